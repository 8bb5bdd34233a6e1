"""What a program computes with indices, masks, lengths and random numbers is what it would compute on a GPU."""

# Runs each operation on both devices, on the same inputs: equal in type, shape and value.
BOTH = """
import itertools
import operator
import random
import threading

import torch
from torch.nn import functional as F

failures = []

def listed(found):
    return found if isinstance(found, (list, tuple)) else [found]

def agree(here, there):
    if not torch.is_tensor(here):
        return type(here) is type(there) and here == there
    return there.is_cuda and here.dtype == there.dtype and torch.equal(here, there.cpu())

def same(name, function, *inputs):
    try:
        here, there = (listed(function(*(x.clone().to(device) for x in inputs))) for device in ("cpu", "cuda"))
        if len(here) != len(there) or not all(map(agree, here, there)):
            failures.append(name)
    except Exception as error:
        failures.append(f"{name}: {error}")

def finish():
    print("differ:", failures, flush=True)
    raise SystemExit(bool(failures))
"""

OPERATIONS = """
ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9]])

def on(x, *numbers):
    return torch.tensor(numbers, device=x.device)

EACH = {
    "compare": lambda x: (x == 5, x != 5, x < 4, 4 <= x, x.eq(x[0, 0]), torch.equal(x, x + 0), torch.isclose(x, x)),
    "logic": lambda x: ((x > 2) & (x < 6), (x > 2) | ~(x < 6), (x > 2) ^ (x < 6), torch.logical_not(x > 3)),
    "running": lambda x: (x.cumsum(1), (x > 4).cumsum(0), x.cumprod(1), *x.cummax(1), *x.cummin(0), x.diff(dim=1)),
    "nonzero": lambda x: (x.nonzero(), *torch.where(x > 4), *(x > 4).nonzero(as_tuple=True), torch.argwhere(x > 99)),
    "index": lambda x: (x[x > 4], x[:, [0, 2]], x[on(x, 1, 0)], x.masked_select(x < 5), x[..., -1], x[x[0, 1]]),
    "where": lambda x: (torch.where(x > 4, x, 0), torch.where(x > 4, 1.5, 2), torch.where(x > 4, x, x / 2)),
    "unique": lambda x: (x.unique(), *x.unique(return_inverse=True, return_counts=True)),
    "unique rows": lambda x: (*x.unique(dim=0, return_counts=True), *x.unique(dim=1, return_inverse=True)),
    "runs": lambda x: x.flatten().sort()[0].unique_consecutive(return_inverse=True, return_counts=True),
    "runs of rows": lambda x: x.unique_consecutive(dim=1, return_counts=True),
    "bincount": lambda x: (x[0].bincount(), x[0].bincount(minlength=20), x[0].bincount(weights=x[1] / 2)),
    "repeat": lambda x: (x[0].repeat_interleave(x[0]), x.repeat_interleave(on(x, 1, 0, 2), dim=0), x.repeat(2, 2)),
    "sort": lambda x: (*x.sort(stable=True), x.argsort(dim=0, stable=True), x.topk(2)[0], x[1].kthvalue(2)[0]),
    "extremes": lambda x: (x.max(), *x[1:2].min(1), x.amax(0), x[0].argmax(), x.median(), x.mode(1)[0], *x.aminmax()),
    "put": lambda x: x.index_put((on(x, 0, 0, 2), on(x, 1, 1, 4)), on(x, 10, 20, 30), accumulate=True),
    "fill": lambda x: (x.index_fill(1, on(x, 0, 3), -1), x.masked_fill(x > 4, 0), x.masked_scatter(x > 4, x)),
    "scatter": lambda x: (x.new_zeros(3, 10).scatter(1, x, 1), x.new_zeros(3, 10).scatter_add(1, x, x)),
    "gather": lambda x: (x.gather(1, x % 5), x.index_select(1, x[0] % 5), x.take(x), x[0].index_add(0, x[0] % 5, x[1])),
    "search": lambda x: (torch.isin(x, x[0]), torch.isin(3, x), torch.searchsorted(x[0].sort()[0], x)),
    "buckets": lambda x: (torch.bucketize(x, on(x, 2, 5, 7)), x.float().histc(5, 0, 10), F.one_hot(x)),
    "layout": lambda x: (x.tril(), x.triu(1), x.flip(1), x.roll(1, 0), torch.cat([x, x]), F.pad(x, (1, 2), value=7)),
    "reduce": lambda x: (x.sum(), x.prod(1), x.float().mean(0), (x > 0).all(), (x > 8).any(1), x.count_nonzero()),
    "read": lambda x: (x.sum().item(), x.tolist(), bool((x > 0).all()), int(x[1, 1]), float(x[1, 1] / 2), str(x.cpu())),
    "make": lambda x: (torch.arange(7, device=x.device), torch.eye(3, device=x.device), torch.ones_like(x), on(x, 1)),
    "make more": lambda x: (torch.linspace(0, 1, 5, device=x.device), torch.tril_indices(4, 3, device=x.device)),
    "numbers": lambda x: (x // 2, x % 3, x**2, 2**x, 10 - x, 10 / x, -x, x.abs(), x.clamp(2, 5), x << 1, x & 3),
    "floats": lambda x: ((x / 9).isfinite(), (x - 5.0).log().isnan(), (x / 2).round().int(), x.float().sqrt().floor()),
    "pairs": lambda x: (*torch.meshgrid(x[0], x[1], indexing="ij"), x[0][:, None] == x[0], torch.combinations(x[0])),
    "empty": lambda x: (x[:0].sum(), x[x > 99].unique(), (x[:0] > 1).nonzero(), x[:0].tolist(), x[:0, 0].bincount()),
    "one number": lambda x: (x[0, 0] + 1, x[0, 0] * x, x.sum() > 3, x[x[0, 0] % 3], x.float().mean() * x),
    "strided": lambda x: (x.t() + 1, x[:, ::2].cumsum(0), x.t()[x.t() > 4], x[:, 1].nonzero(), x.t().sort(0)[0]),
    "expanded": lambda x: (x.expand(2, 3, 5).sum(0), x.expand(2, 3, 5).nonzero(), x[0].expand(4, 5)[:, 2]),
}
for name, function in EACH.items():
    same(name, function, ids)

def in_place(x):
    x += 1
    x[0] *= 2
    x[:, 1] = 7
    x[1, 2:4].fill_(3)
    x.t()[4].sub_(5)
    x[x > 9] = 0
    x[1].copy_(x[0])
    x[2, on(x, 0, 3)] = 11
    x.scatter_(1, x.new_zeros(3, 1), 8)
    x[-1, -1].add_(x[0, 0])
    return x, x.view(5, 3), x.sum()

def piece_by_piece(x):
    lengths = torch.empty(4, dtype=torch.long, device=x.device)
    for i in range(4):
        lengths[i] = i + x[0, i]
    board = torch.empty(2, 3, dtype=torch.bool, device=x.device)
    board[0] = True
    board[1, :] = x[1, :3] > 5
    large = torch.empty(3, 5, dtype=torch.bool, device=x.device)
    torch.gt(x, 3, out=large)
    return lengths, board, large, torch.repeat_interleave(lengths), int(lengths.sum())

same("in place", in_place, ids)
same("piece by piece", piece_by_piece, ids)

TYPES = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64]
TYPES += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
table = torch.tensor([[0, 1, 5], [7, 2, 1]])
for dtype, number in itertools.product(TYPES, [True, 3, -2, 2.5, 1e-3]):
    for sign in (operator.add, operator.mul, operator.lt, operator.eq, operator.truediv):
        same((sign, dtype, number), lambda x: (sign(x, number), sign(number, x)), table.to(dtype))
for a, b in itertools.product(TYPES, TYPES):
    same((a, b), lambda x, y: (x + y, x == y, x * y[0, 1], torch.where(x > y, x, y)), table.to(a), table.flip(0).to(b))
finish()
"""

# Each step accepts any shape, so every program made of them runs.
PROGRAMS = """
STEPS = [
    lambda x, n: x + n,
    lambda x, n: n - x,
    lambda x, n: x * n % 97,
    lambda x, n: x // (n + 1),
    lambda x, n: (x / (n + 1)).round().long(),
    lambda x, n: torch.where(x > n, x, -n),
    lambda x, n: x[x != n],
    lambda x, n: x.flatten().sort(stable=True, descending=n % 2 == 0)[n % 2],
    lambda x, n: x.unique(return_inverse=True, return_counts=True)[n % 3],
    lambda x, n: (x != n).nonzero().flatten(),
    lambda x, n: x.flatten().cumsum(0) % 50,
    lambda x, n: (x.abs() % 8).flatten().bincount(minlength=n),
    lambda x, n: x.flatten()[:200].repeat_interleave(x.flatten()[:200].abs() % 3),
    lambda x, n: x.flatten()[: 2 * (x.numel() // 2)].view(2, -1).t(),
    lambda x, n: torch.cat([x.flatten()[:200], x.flatten()[:n]]),
    lambda x, n: x.flatten()[::2],
    lambda x, n: x.masked_fill(x % 2 == 0, n),
    lambda x, n: x.clone().add_(n).bitwise_xor_(n),
    lambda x, n: x.flatten().index_add(0, x.flatten().argsort(stable=True)[:n], x.flatten()[:n]),
    lambda x, n: torch.isin(x, x.flatten()[:n]) + x,
    lambda x, n: x.flatten().topk(min(n, x.numel()))[0],
    lambda x, n: F.one_hot(x.flatten()[:6] % 5, 5),
    lambda x, n: x.new_zeros(10).scatter_add(0, x.flatten() % 10, x.flatten()),
    lambda x, n: torch.arange(x.numel(), device=x.device)[x.flatten() % 3 == 0],
    lambda x, n: torch.stack([x.flatten(), x.flatten().roll(n)]),
    lambda x, n: x.to(torch.int32).to(torch.uint8).long(),
    lambda x, n: x.flatten()[: int(x.sum().item()) % 7 + 3],
    lambda x, n: torch.searchsorted(x.flatten().sort()[0], x.contiguous()),
    lambda x, n: x.amax(0) if x.numel() and x.dim() == 2 else x ^ n,
]

def program(seed, x):
    dice = random.Random(seed)
    for _ in range(8):
        x = dice.choice(STEPS)(x, dice.randrange(1, 6))
    return x

for seed in range(300):
    start = torch.tensor([random.Random(-seed).randrange(-20, 20) for _ in range(30)]).view(5, 6)
    same(f"program {seed}", lambda x: program(seed, x), start)
finish()
"""

DRAWS = """
def draws():
    found = {
        "randperm": torch.randperm(1000, device="cuda"),
        "randint": torch.randint(5, 15, (1000,), device="cuda"),
        "rand": torch.rand(1000, device="cuda"),
        "randn": torch.randn(1000, device="cuda"),
        "bernoulli": torch.bernoulli(torch.full((1000,), 0.3, device="cuda")),
        "multinomial": torch.multinomial(torch.tensor([0, 0.5, 0.5], device="cuda"), 1000, replacement=True),
        "without replacement": torch.multinomial(torch.ones(9, device="cuda"), 9),
    }
    return {name: tensor.tolist() for name, tensor in found.items()}

torch.manual_seed(3)
undisturbed = torch.rand(3)
torch.manual_seed(3)
first = draws()
assert torch.equal(torch.rand(3), undisturbed), "drawing on the GPU moved the CPU's generator"

assert sorted(first["randperm"]) == list(range(1000)) != first["randperm"]
assert set(first["randint"]) == set(range(5, 15))
assert all(0 <= number < 1 for number in first["rand"]) and 0.45 < sum(first["rand"]) / 1000 < 0.55
assert -0.2 < sum(first["randn"]) / 1000 < 0.2 and min(first["randn"]) < -1.5
assert set(first["bernoulli"]) == {0, 1} and 250 < sum(first["bernoulli"]) < 350  # 300, and 3.4 deviations of 14.5
assert set(first["multinomial"]) == {1, 2}
assert sorted(first["without replacement"]) == list(range(9))

assert draws() != first
torch.cuda.manual_seed(3)
assert draws() == first
own = [torch.randint(99, (9,), device="cuda", generator=torch.Generator("cuda").manual_seed(5)) for _ in range(2)]
assert torch.equal(*own)

# In other threads, and where autograd is off.
found = []

def work():
    with torch.inference_mode():
        third = torch.arange(10, device="cuda") % 3 == 0
        found.append(third.nonzero().flatten().tolist())

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [[0, 3, 6, 9]] * 2
with torch.no_grad():
    assert (torch.arange(9, device="cuda") > 6).nonzero().tolist() == [[7], [8]]
"""


def assert_ran_on_known_values(run):
    assert run.code == 0, run.text
    assert run.estimate["assumed"] == []
    assert run.estimate["not_modelled"] == []


def test_operations_on_indices_and_masks_give_the_same_as_on_the_cpu(estimate):
    assert_ran_on_known_values(estimate(BOTH + OPERATIONS))


def test_random_programs_of_such_operations_give_the_same_as_on_the_cpu(estimate):
    assert_ran_on_known_values(estimate(BOTH + PROGRAMS))


def test_the_gpus_random_numbers_are_plausible_and_repeatable_and_separate_from_the_cpus(estimate):
    assert_ran_on_known_values(estimate(BOTH + DRAWS))


CHECKPOINTED = """
import torch
from torch.utils.checkpoint import checkpoint

layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
given = torch.randn(64, 1024, device="cuda", requires_grad=True)
(given @ layer.weight).sum().backward()  # cuBLAS takes its workspaces
for step in range(3):
    with torch.autocast("cuda", torch.bfloat16):
        before = torch.cuda.memory_allocated()
        out = checkpoint(layer, given, use_reentrant=True)
        kept = torch.cuda.memory_allocated() - before - out.nbytes
        assert kept == (layer.weight.nbytes + given.nbytes) // 2, (step, kept)  # both are leaves: cast once and kept
    out.float().sum().backward()
    del out
"""


def test_weights_recomputed_in_the_backward_pass_are_cast_once_per_step(estimate):
    done = estimate(CHECKPOINTED, "--until-exit")
    assert done.code == 0, done.text


def test_an_optimizer_resumed_on_the_gpu_continues_to_count_its_steps(estimate):
    run = estimate(
        """
        import io
        import torch

        model = torch.nn.Linear(64, 64).cuda()
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            optimizer.zero_grad()
            model(torch.randn(8, 64).cuda()).sum().backward()
            optimizer.step()

        step()
        saved = io.BytesIO()
        torch.save(optimizer.state_dict(), saved)
        saved.seek(0)
        optimizer.load_state_dict(torch.load(saved, map_location="cuda"))
        for state in optimizer.state.values():
            state["step"] = state["step"].cuda()
        for _ in range(40):
            step()
        print("steps", [int(state["step"].item()) for state in optimizer.state.values()])
        """,
        "--until-exit",
    )
    assert run.code == 0, run.text
    assert b"steps [41, 41]" in run.stdout


def test_values_that_are_not_computed_can_be_expanded(estimate):
    run = estimate(
        """
        import torch

        mean = torch.nn.Linear(16, 4).cuda()(torch.randn(8, 16).cuda())
        spread = torch.nn.Parameter(torch.zeros(4, device="cuda")).exp().expand_as(mean)
        if bool((torch.normal(mean, spread) > spread).any()):
            print("drawn")
        """,
        "--until-exit",
    )
    assert run.code == 0, run.text
