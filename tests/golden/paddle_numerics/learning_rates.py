import json, paddle
from paddle.optimizer import lr
def trace(s, n):
    out=[]
    for _ in range(n):
        out.append(float(s())); s.step()
    return out
R={'about':'Learning rates of PaddlePaddle 2.6.2, step by step.','traces':[]}
def add(text, s, n): R['traces'].append({'rate':text,'values':trace(s,n)})
add('piecewise:3,6,20:0.1,0.05,0.01,0.001', lr.PiecewiseDecay([3,6,20],[0.1,0.05,0.01,0.001]), 25)
add('cosine:0.5,10', lr.CosineAnnealingDecay(0.5,10), 25)
add('cosine:0.1,7,0.02', lr.CosineAnnealingDecay(0.1,7,0.02), 25)
add('0.3+warmup:5,0,0.3', lr.LinearWarmup(0.3,5,0.0,0.3), 10)
add('cosine:0.1,8,0.001+warmup:4,0.01,0.1', lr.LinearWarmup(lr.CosineAnnealingDecay(0.1,8,0.001),4,0.01,0.1), 25)
add('piecewise:2,5:1,0.1,0.01+warmup:3,0.5,1', lr.LinearWarmup(lr.PiecewiseDecay([2,5],[1.0,0.1,0.01]),3,0.5,1.0), 12)
json.dump(R,open('/tmp/w/OPTIM/tests/golden/paddle_numerics/learning_rates.json','w'),indent=1)
for t in R['traces']: print(t['rate'],[round(v,5) for v in t['values'][:14]])
