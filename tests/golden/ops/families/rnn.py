"""Recurrent networks: LSTM, GRU and simple ones, of several layers and both directions, with lengths, and of no steps."""

import numpy as np

F, I32 = np.float32, np.int32
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def cases(case):
    rng = np.random.default_rng(11)

    def net(name, mode, time=5, batch=3, size=4, hidden=5, layers=1, directions=1, lengths=None, spread=0.5, expect=None):
        rand = lambda *dims: (rng.standard_normal(dims) * spread).astype(F)
        gates = GATES[mode] * hidden
        weights, biases = [], []
        for layer in range(layers):
            for _ in range(directions):
                weights += [rand(gates, size if layer == 0 else hidden * directions), rand(gates, hidden)]
                biases += [rand(gates), rand(gates)]
        states = 2 if mode == "LSTM" else 1
        inputs = {"Input": rand(time, batch, size) * 2, "PreState": [rand(layers * directions, batch, hidden) for _ in range(states)], "WeightList": weights + biases}
        if lengths is not None:
            inputs["SequenceLength"] = np.array(lengths, I32)
        if expect is not None:
            expect = {"Out": np.zeros((0, batch, hidden * directions), F), "State": inputs["PreState"]}
        case(name, "rnn", inputs, {"Out": 1, "State": states, "DropoutState": ["uint8"], "Reserve": 1},
             {"mode": mode, "hidden_size": hidden, "input_size": size, "num_layers": layers, "is_bidirec": directions == 2, "is_test": True, "dropout_prob": 0.0},
             hidden=["DropoutState", "Reserve"], expect=expect)

    for mode in GATES:
        low = mode.lower()
        net(low, mode)
        net(f"{low}_both_lengths", mode, lengths=[2, 5, 4], directions=2, layers=2)
        if mode == "RNN_RELU":
            continue
        net(f"{low}_both", mode, directions=2)
        net(f"{low}_layers", mode, layers=2, directions=2, time=4)
        net(f"{low}_lengths", mode, lengths=[5, 1, 3])
        net(f"{low}_one", mode, time=1, batch=1, size=1, hidden=1)
        if mode != "RNN_TANH":
            net(f"{low}_no_steps", mode, time=0, batch=2, layers=2, expect=True)
    net("gru_three_layers", "GRU", layers=3, hidden=2)
    net("lstm_wide", "LSTM", time=3, batch=2, size=7, hidden=17)
    net("gru_wide", "GRU", time=3, batch=2, size=7, hidden=17)
    net("lstm_saturated", "LSTM", spread=20.0)
    net("gru_saturated", "GRU", spread=20.0)
