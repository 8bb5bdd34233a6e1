"""The stand-in libraries as they are installed."""

from __future__ import annotations

from prerequisites import native_installation


def test_the_installed_stand_ins_are_listed_in_preload_order() -> None:
    installation = native_installation()
    libraries = installation.libraries
    # The major versions of cuFFT and cuSOLVER are one lower than the toolkit's.
    versions = ["cudart.so.13", "cublas.so.13", "cublasLt.so.13", "cufft.so.12", "cusolver.so.12", "cusparse.so.12"]
    paths = installation.preload(13)
    assert [str(path.relative_to(libraries)) for path in paths] == [
        *("libveritasest.so", "libcuda.so.1", "libnvidia-ml.so.1"),
        *(f"cu13/lib{name}" for name in (*versions, "curand.so.10")),
        *("libnccl.so.2", "libveritasest_cudnn.so.9"),
    ]
    assert [path for path in paths if not path.exists()] == []
