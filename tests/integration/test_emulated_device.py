"""The emulated device as a script sees it, and what happens when it is full."""

MIB = 2**20


def test_what_is_copied_in_comes_out_again(estimate):
    job = """
        import torch
        for kind in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
            host = torch.randn(1000, 1000).mul(100).to(kind)
            assert torch.equal(host.cuda().cpu(), host), kind
        pinned = torch.arange(10**6).pin_memory()
        device = pinned.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        assert torch.equal(device.cpu(), pinned)
        part = torch.arange(100).reshape(10, 10).cuda()[3:5]
        assert torch.equal(part.cpu(), torch.arange(30, 50).reshape(2, 10))
        print("all equal")
    """
    run = estimate(job)
    assert run.code == 0, run.text
    assert b"all equal" in run.stdout


def test_memory_never_written_reads_as_zeros(estimate):
    job = "import torch\nprint('sum', torch.empty(10**6, device='cuda').cpu().sum().item())\n"
    assert b"sum 0.0" in estimate(job, "--values", "off").stdout


def test_every_way_to_ask_for_free_memory_gives_the_same(estimate):
    job = """
        import ctypes
        import torch

        class Memory(ctypes.Structure):
            _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

        held = torch.empty(100 * 2**20, dtype=torch.uint8, device="cuda")
        free, total = torch.cuda.mem_get_info()

        nvml, handle, memory = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), Memory()
        assert nvml.nvmlInit_v2() == 0
        assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
        assert nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
        assert (memory.free, memory.total) == (free, total), (memory.free, memory.total, free, total)

        cuda, cu_free, cu_total = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(), ctypes.c_size_t()
        assert cuda.cuMemGetInfo_v2(ctypes.byref(cu_free), ctypes.byref(cu_total)) == 0
        assert (cu_free.value, cu_total.value) == (free, total)

        more = torch.empty(50 * 2**20, dtype=torch.uint8, device="cuda")
        assert torch.cuda.mem_get_info() == (free - 50 * 2**20, total)
        print("agreed")
    """
    run = estimate(job, "--gpu", "rtx-4090")
    assert run.code == 0, run.text
    assert b"agreed" in run.stdout


def test_the_script_sees_the_gpu_that_was_asked_for(estimate):
    job = "import torch\nprint(torch.cuda.get_device_name(), torch.cuda.get_device_capability())\n"
    assert b"NVIDIA H200 (9, 0)" in estimate(job, "--gpu", "h200").stdout
    assert b"RTX 4090 (8, 9)" in estimate(job, "--gpu", "rtx-4090").stdout


def test_a_hundred_gibibytes_on_the_device_take_under_two_on_the_host(estimate):
    job = """
        import resource
        import torch
        held = [torch.ones(2**30, dtype=torch.uint8, device="cuda") for _ in range(100)]
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 2**20, "KiB of host memory"
    """
    run = estimate(job, "--gpu", "h200")
    assert run.code == 0, run.text
    assert run.peak["reserved_bytes"] == 100 * 2**30


# Two steps that fit into 1 GiB, then one that does not.
GROWS = """
import torch
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def batch(rows):
    return torch.zeros(rows, 1024).cuda()  # THE LINE

for rows in (1000, 1000, 500_000):
    optimizer.zero_grad()
    model(batch(rows)).sum().backward()
    optimizer.step()
"""


def test_out_of_memory_names_the_allocation_the_step_and_the_line(estimate):
    run = estimate(GROWS, "--gpu", "h200", "--memory", "1GiB")
    line = GROWS[: GROWS.index("# THE LINE")].count("\n") + 1
    assert run.code == 3, run.text
    assert run.estimate["verdict"] == "does_not_fit"
    failure = run.estimate["failure"]
    assert failure["kind"] == "oom"
    # 500,000 x 1,024 x 4 bytes, which PyTorch rounds up to 2 MiB: the figure of its own message
    assert failure["requested_bytes"] == 977 * 2 * MIB
    assert failure["step"] == 2
    assert (failure["file"].rpartition("/")[2], failure["line"]) == ("train.py", line)
    assert f"train.py:{line}" in run.text
    assert "torch.OutOfMemoryError: CUDA out of memory" in run.stderr, "PyTorch's own error, with its own traceback"


def test_out_of_memory_shows_what_the_job_needs_without_a_limit(estimate):
    run = estimate(GROWS, "--gpu", "h200", "--memory", "1GiB")
    assert run.needs["unconstrained_bytes"] > 2 * 500_000 * 1024 * 4  # the batch and the output
    assert [one["limit_bytes"] is None for one in run.estimate["runs"]] == [False, True]


def test_a_library_that_cannot_allocate_its_memory_does_not_fit(estimate):
    done = estimate(
        """
        import torch

        matrix = torch.ones(64, 64, device="cuda")
        free, _ = torch.cuda.mem_get_info()
        hog = torch.empty(free - 2**26 + 2**22, dtype=torch.uint8, device="cuda")
        matrix @ matrix
        """,
        "--memory",
        "2GiB",
    )
    assert (done.code, done.estimate["verdict"], done.estimate["failure"]["kind"]) == (3, "does_not_fit", "oom")
    assert "out of memory: cuBLAS could not allocate its 66.00 MiB" in done.text
    assert done.estimate["failure"]["line"] == 7


def test_out_of_memory_that_the_script_survives_is_no_failure(estimate):
    job = """
        import torch
        try:
            torch.empty(2 * 2**30, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            print("smaller then")
            held = torch.empty(2**29, dtype=torch.uint8, device="cuda")
    """
    run = estimate(job, "--memory", "2GiB")
    assert run.code == 0, run.text
    assert run.estimate["verdict"] == "fits"


def test_json_on_stdout_is_alone_there(script, tmp_path):
    import json
    import sys

    from .conftest import call

    job = script("import torch\nprint('chatter')\ntorch.empty(1, device='cuda')\n")
    done = call("run", "--json", "-", "--", sys.executable, str(job), cwd=tmp_path)
    assert json.loads(done.stdout)["schema_version"] == 2
    assert b"chatter" in done.stderr


def test_a_size_that_is_a_guess_gives_the_requirement_a_range(estimate):
    job = """
        import torch
        torch.linalg.eigh(torch.zeros(6000, 6000, device="cuda"))  # larger than any recorded
    """
    needs = (run := estimate(job)).needs
    low, high = needs["guessed_range_bytes"]
    assert low <= needs["unconstrained_bytes"] <= high
    assert low < high
    assert {item["how"] for item in run.estimate["not_modelled"]} == {"bounded"}
    where = {(item["file"].rpartition("/")[2], item["line"]) for item in run.estimate["not_modelled"]}
    assert where == {("train.py", 3)}
    assert len(run.estimate["runs"]) == 3


def test_a_job_without_guesses_has_no_range_and_runs_once(estimate):
    run = estimate("import torch\ntorch.linalg.cholesky(torch.empty(600, 600, device='cuda'))\n")
    assert run.needs["guessed_range_bytes"] is None
    assert len(run.estimate["runs"]) == 1
