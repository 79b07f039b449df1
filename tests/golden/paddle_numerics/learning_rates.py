# Makes learning_rates.json with a real Paddle 2.6.2.
import json

from paddle.optimizer import lr


def trace(schedule, steps):
    values = []
    for _ in range(steps):
        values.append(float(schedule()))
        schedule.step()
    return values


CASES = [
    ("piecewise:3,6,20:0.1,0.05,0.01,0.001", lr.PiecewiseDecay([3, 6, 20], [0.1, 0.05, 0.01, 0.001]), 25),
    ("cosine:0.5,10", lr.CosineAnnealingDecay(0.5, 10), 25),
    ("cosine:0.1,7,0.02", lr.CosineAnnealingDecay(0.1, 7, 0.02), 25),
    ("0.3+warmup:5,0,0.3", lr.LinearWarmup(0.3, 5, 0.0, 0.3), 10),
    ("cosine:0.1,8,0.001+warmup:4,0.01,0.1", lr.LinearWarmup(lr.CosineAnnealingDecay(0.1, 8, 0.001), 4, 0.01, 0.1), 25),
    ("piecewise:2,5:1,0.1,0.01+warmup:3,0.5,1", lr.LinearWarmup(lr.PiecewiseDecay([2, 5], [1.0, 0.1, 0.01]), 3, 0.5, 1.0), 12),
]
traces = [{"rate": text, "values": trace(schedule, steps)} for text, schedule, steps in CASES]
json.dump({"about": "Learning rates of PaddlePaddle 2.6.2, step by step.", "traces": traces}, open("learning_rates.json", "w"), indent=1)
