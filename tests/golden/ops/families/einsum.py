"""einsum. Paddle's op takes one or two operands, lower-case letters and a result; numpy is the reference for the rest."""

import numpy as np

F = np.float32


def cases(case):
    rng = np.random.default_rng(17)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def einsum(name, equation, *operands, numpy=False):
        expect = {"Out": np.asarray(np.einsum(equation, *operands), F)} if numpy else None
        extra = {"InnerCache": len(operands), "XShape": len(operands)}
        case(name, "einsum", {"Operands": list(operands)}, {"Out": 1, **extra}, {"equation": equation}, expect=expect, hidden=list(extra))

    einsum("matrix_product", "ij,jk->ik", rand(3, 4), rand(4, 5))
    einsum("transposed_product", "ij,kj->ki", rand(3, 4), rand(5, 4))
    einsum("transposed_left", "ji,jk->ik", rand(4, 3), rand(4, 5))
    einsum("stack", "bij,bjk->bik", rand(2, 3, 4), rand(2, 4, 5))
    einsum("attention_scores", "blhd,bmhd->bhlm", rand(2, 3, 2, 4), rand(2, 5, 2, 4))
    einsum("attention_values", "bhlm,bmhd->blhd", rand(2, 2, 3, 5), rand(2, 5, 2, 4))
    einsum("outer", "i,j->ij", rand(3), rand(4))
    einsum("inner", "i,i->", rand(7), rand(7))
    einsum("hadamard", "ij,ij->ij", rand(3, 4), rand(3, 4))
    einsum("two_sums", "ijk,jkl->il", rand(2, 3, 4), rand(3, 4, 5))
    einsum("sum_of_one", "ijk,jl->il", rand(2, 3, 4), rand(3, 5))
    einsum("sum_of_both", "ij,kl->ik", rand(2, 3), rand(4, 5))
    einsum("transpose", "ijk->kij", rand(2, 3, 4))
    einsum("sum", "ijk->j", rand(2, 3, 4))
    einsum("sum_all", "ij->", rand(3, 4))
    einsum("diagonal", "ii->i", rand(4, 4))
    einsum("trace", "ii->", rand(4, 4))
    einsum("diagonal_product", "ii,ij->ij", rand(3, 3), rand(3, 2))
    einsum("ellipsis", "...ij,...jk->...ik", rand(2, 3, 4), rand(2, 4, 5))
    einsum("ellipsis_broadcast", "...ij,...jk->...ik", rand(5, 1, 2, 3), rand(4, 3, 2))
    einsum("ellipsis_one_side", "...ij,jk->...ik", rand(2, 2, 3), rand(3, 4))
    einsum("ellipsis_first", "i...->...", rand(3, 2, 2))
    einsum("ellipsis_moves", "...i->i...", rand(2, 3, 4), numpy=True)
    einsum("size_one", "ij,jk->ik", rand(1, 1), rand(1, 1))
    einsum("no_sum", "ij,jk->ik", rand(2, 0), rand(0, 3), numpy=True)
    einsum("no_rows", "ij,jk->ik", rand(0, 2), rand(2, 3), numpy=True)
    einsum("implicit", "ab,bc", rand(2, 3), rand(3, 4), numpy=True)
    einsum("implicit_trace", "aa", rand(3, 3), numpy=True)
    einsum("capitals", "iA, Aj -> ji", rand(2, 3), rand(3, 4), numpy=True)
