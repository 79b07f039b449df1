"""The variants of a network's model: all of them, or with --breadth of some networks of each family."""
import variants


def is_sampled(network, args):
    return not args.breadth or network.rank < args.breadth


def variants_of(network, exporter, args):
    made = [v for v in variants.OF[exporter] if network.quantise or v not in variants.QUANTISED] if is_sampled(network, args) else []
    return [v for v in ["plain", *made] if v in args.variants]


def is_converted(network, exporter, args):
    return not args.no_low and (exporter == "script" or is_sampled(network, args))
