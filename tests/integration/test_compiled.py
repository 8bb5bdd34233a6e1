"""Jobs that go through torch.compile."""

COMPILED = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 4097), torch.nn.LayerNorm(4097)).cuda()
optimizer = torch.optim.Adam(model.parameters())
compiled = torch.compile(model)
for _ in range(2):
    optimizer.zero_grad()
    compiled(torch.randn(256, 64).cuda()).sum().backward()
    optimizer.step()
"""


def test_a_compiled_job_is_estimated_as_its_first_run_each_time_and_the_users_caches_stay_as_they_are(
    estimate, tmp_path
):
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    caches["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # starting workers takes longer than these kernels
    first, second = (estimate(COMPILED, "--until-exit", **caches).estimate for _ in range(2))
    assert first["verdict"] == "fits"
    assert first["ranks"][0]["peak"] == second["ranks"][0]["peak"]
    assert not any((tmp_path / name).exists() for name in ("inductor", "triton"))
