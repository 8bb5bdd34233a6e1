"""PyTorch's own allocator runs, so its settings do what they do on a GPU.

Each script asks for blocks above 10 MiB, which the allocator rounds to 2 MiB and takes from the device one by one.
"""

import pytest

MIB = 2**20

ALLOCATE = """
import torch
MIB = 2**20

def block(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
"""


def test_expandable_segments_grow_instead_of_piling_up(estimate):
    job = ALLOCATE + "for mib in (30, 60, 90):\n    held = None\n    held = block(mib)\n"
    piled = estimate(job, "--gpu", "h200").estimate
    grown = estimate(job, "--gpu", "h200", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True").estimate
    assert piled["ranks"][0]["peak"]["reserved_bytes"] == (30 + 60 + 90) * MIB
    assert grown["ranks"][0]["peak"]["reserved_bytes"] == 5 * 20 * MIB  # 90 MiB in pages of 20 MiB
    assert grown["ranks"][0]["peak"]["allocated_bytes"] == piled["ranks"][0]["peak"]["allocated_bytes"] == 90 * MIB
    assert grown["provenance"]["allocator_conf"] == "expandable_segments:True"


def test_max_split_size_keeps_a_large_block_whole(estimate):
    job = ALLOCATE + "large = block(100)\ndel large\nsmall = block(30)\n"
    split = estimate(job).estimate
    whole = estimate(job, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:40").estimate
    assert split["ranks"][0]["peak"]["reserved_bytes"] == 100 * MIB
    assert whole["ranks"][0]["peak"]["reserved_bytes"] == (100 + 30) * MIB


def test_garbage_collection_threshold_frees_cached_blocks_before_taking_more(estimate):
    # 120 + 90 MiB cached is above half of 400 MiB, so the request for 150 MiB collects some of it first.
    job = ALLOCATE + (
        "torch.cuda.set_per_process_memory_fraction(400 * MIB / torch.cuda.mem_get_info()[1])\n"
        "a, b = block(120), block(90)\n"
        "del a, b\n"
        "c = block(150)\n"
    )
    kept = estimate(job).estimate
    collected = estimate(job, PYTORCH_CUDA_ALLOC_CONF="garbage_collection_threshold:0.5").estimate
    assert kept["ranks"][0]["peak"]["reserved_bytes"] == (120 + 90 + 150) * MIB
    assert collected["ranks"][0]["peak"]["reserved_bytes"] in {(90 + 150) * MIB, (120 + 150) * MIB, (120 + 90) * MIB}


def test_memory_fraction_set_by_the_script_is_enforced(estimate):
    job = ALLOCATE + (
        "torch.cuda.set_per_process_memory_fraction(100 * MIB / torch.cuda.mem_get_info()[1])\n"
        "held = block(90)\n"
        "try:\n"
        "    block(20)\n"
        "except torch.OutOfMemoryError as error:\n"
        "    print('refused:', 'allowed' in str(error))\n"
    )
    run = estimate(job, "--gpu", "h200")
    assert b"refused: True" in run.stdout
    assert run.code == 0, run.text
    assert run.peak["reserved_bytes"] == 90 * MIB


@pytest.mark.parametrize(("emptied", "reserved_mib"), [(False, 100 + 110), (True, 110)])
def test_empty_cache_gives_memory_back_to_the_device(estimate, emptied, reserved_mib):
    job = ALLOCATE + f"a = block(100)\ndel a\n{'torch.cuda.empty_cache()' if emptied else ''}\nb = block(110)\n"
    assert estimate(job).peak["reserved_bytes"] == reserved_mib * MIB
