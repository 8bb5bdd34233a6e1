"""The user's files stay as they were, whatever the job does to them; inside the run it finds what it wrote.

Every recipe runs through both mechanisms. Recipes share a process, since importing torch takes longer than all of them.
"""

import hashlib
import textwrap
from pathlib import Path

import pytest

MODES = ("overlay", "interposer")

# What the user has: a real checkpoint and a log of an earlier run, under the names that the recipes use.
START = """
import os, shutil, subprocess, sys, sqlite3, tempfile, datetime
from pathlib import Path
import torch

def train(steps=2):
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 256).cuda()).sum().backward()
        optimizer.step()

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.Adam(model.parameters())
"""

PLAIN = """
def save_each_epoch():
    for epoch in range(2):
        train()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"runs/epoch{epoch}.pt")
    model.load_state_dict(torch.load("runs/epoch1.pt")["model"])

def replace_the_last_checkpoint():
    with tempfile.NamedTemporaryFile(dir="runs", delete=False) as file:
        torch.save(model.state_dict(), file)
    os.replace(file.name, "runs/last.pt")
    torch.load("runs/last.pt")

def remove_the_output_folder_first():
    shutil.rmtree("output")
    os.makedirs("output/deep")
    assert os.listdir("output") == ["deep"], os.listdir("output")
    torch.save(model.state_dict(), "output/deep/model.pt")

def append_to_a_log():
    for line in ("more\\n", "and more\\n"):
        with open("runs/log.txt", "a") as log:
            log.write(line)
    assert open("runs/log.txt").read() == "first run\\nmore\\nand more\\n"

def log_to_sqlite():
    with sqlite3.connect("runs/log.db") as base:
        base.execute("pragma journal_mode=wal")
        base.execute("insert into losses values (0.5)")
    assert base.execute("select count(*) from losses").fetchone() == (2,)

def work_in_another_folder():
    os.chdir("runs")
    Path("../output/relative.txt").write_text("x")
    os.makedirs("new/folder")
    os.chdir("new/folder")
    Path("inside.txt").write_text("y")
    assert os.getcwd().endswith("runs/new/folder"), os.getcwd()
    os.chdir("../../..")
    assert Path("output/relative.txt").exists() and Path("runs/new/folder/inside.txt").exists()

def write_in_a_subprocess():
    code = "open('runs/child.txt', 'w').write(open('runs/log.txt').read())"
    subprocess.run([sys.executable, "-c", code], check=True)
    for command in ("cp runs/child.txt runs/copied.txt", "rm runs/notes.txt", "mv runs/old runs/older"):
        subprocess.run(command, shell=True, check=True)
    assert Path("runs/copied.txt").read_text().startswith("first run")
    assert not Path("runs/notes.txt").exists() and Path("runs/older/model.pt").exists()

def dated_folders():
    folder = Path("outputs") / datetime.datetime.now().strftime("%Y-%m-%d/%H-%M-%S") / ".hydra"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("lr: 1")
    assert [path.name for path in Path("outputs").rglob("*.yaml")] == ["config.yaml"]

def distributed_checkpoint():
    import torch.distributed.checkpoint as dcp
    state = {"model": {name: value.cpu() for name, value in model.state_dict().items()}}
    dcp.save(state, checkpoint_id="runs/distributed")
    dcp.load(state, checkpoint_id="runs/distributed")

def rotate_and_link():
    os.rename("runs/epoch0.pt", "runs/best.pt")
    os.symlink("best.pt", "runs/latest.pt")
    os.link("runs/best.pt", "runs/same.pt")
    torch.load("runs/latest.pt")
    shutil.copytree("runs/older", "runs/copy")
    shutil.move("runs/copy", "runs/moved")
    os.truncate("runs/big.bin", 10)
    os.chmod("runs/big.bin", 0o600)
    assert sorted(os.listdir("runs/moved")) == ["model.pt"] and os.path.getsize("runs/big.bin") == 10

RECIPES = [
    save_each_epoch, replace_the_last_checkpoint, remove_the_output_folder_first, append_to_a_log, log_to_sqlite,
    work_in_another_folder, write_in_a_subprocess, dated_folders, distributed_checkpoint, rotate_and_link,
]
"""

FRAMEWORKS = """
def safetensors_file():
    from safetensors.torch import load_file, save_file
    save_file(model.state_dict(), "runs/model.safetensors")
    assert set(load_file("runs/model.safetensors")) == {"weight", "bias"}

def huggingface_trainer():
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    small = GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=1, n_head=2)
    data = [{"input_ids": torch.arange(16), "labels": torch.arange(16)} for _ in range(8)]
    def trainer(epochs):
        options = TrainingArguments(
            "runs/trainer", save_strategy="epoch", save_total_limit=1, num_train_epochs=epochs, report_to=[],
            push_to_hub=True, hub_model_id="nobody/nothing", hub_token="none", per_device_train_batch_size=4,
        )
        return Trainer(GPT2LMHeadModel(small), options, train_dataset=data)
    first = trainer(1)
    first.train()
    first.save_model()
    again = trainer(2)
    again.train(resume_from_checkpoint=True)
    assert again.state.global_step == 4
    assert os.listdir("runs/trainer").count("checkpoint-4") == 1

def accelerate_state():
    from accelerate import Accelerator
    accelerator = Accelerator(project_dir="runs/accelerate")
    prepared, stepping = accelerator.prepare(model, optimizer)
    accelerator.save_state("runs/accelerate/state")
    accelerator.load_state("runs/accelerate/state")

def lightning_module():
    import lightning
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
        def training_step(self, batch, index):
            return self.layer(batch).sum()
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)
    data = torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=4)
    trainer = lightning.Trainer(
        max_epochs=2, default_root_dir="runs", accelerator="gpu", devices=1, enable_progress_bar=False, logger=False
    )
    trainer.fit(Module(), data)
    assert trainer.checkpoint_callback.best_model_path.endswith(".ckpt")
    Module.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)

def upload():
    from huggingface_hub import HfApi, create_repo, upload_file
    assert create_repo("nobody/nothing").repo_id == "nobody/nothing"
    upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="nobody/nothing")
    HfApi().upload_folder(folder_path="runs", repo_id="nobody/nothing", run_as_future=True).result()

RECIPES = [safetensors_file, huggingface_trainer, accelerate_state, lightning_module, upload]
"""

FINISH = """
for recipe in RECIPES:
    recipe()
    print("done:", recipe.__name__, flush=True)
train()
"""


def users_folder(folder: Path) -> None:
    import sqlite3

    for name in ("runs/old/model.pt", "runs/last.pt", "runs/notes.txt", "output/best/model.pt", "runs/big.bin"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"precious" * 1000)
    (folder / "runs/log.txt").write_text("first run\n")
    with sqlite3.connect(folder / "runs/log.db") as base:
        base.execute("create table losses (loss)")
        base.execute("insert into losses values (1)")
    base.close()


def fingerprint(folder: Path) -> str:
    """Names, kinds, rights, times and contents of all that is in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        digest.update(repr((str(path), facts.st_mode, facts.st_mtime_ns, facts.st_size, facts.st_nlink)).encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    users_folder(folder)
    return folder


def in_project(body: str) -> str:
    """A script that lives next to the project, as the test's own output does, and works in it."""
    return f"import os\nos.chdir('project')\n{textwrap.dedent(START)}{body}{FINISH}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("recipes", "count"), [(PLAIN, 10), (FRAMEWORKS, 5)], ids=["plain", "frameworks"])
def test_recipes_that_save_leave_the_users_folder_as_it_was(estimate, project, recipes, count, mode):
    before = fingerprint(project)
    run = estimate(in_project(recipes), "--until-exit", VERITASEST_FILES=mode)
    assert run.code == 0, run.text
    assert run.stdout.count(b"done:") == count
    assert fingerprint(project) == before
    files = run.estimate["files"]
    assert files["mode"] == mode
    assert files["written"] >= 4
    assert "discarded (--allow-writes keeps them)" in run.text


@pytest.mark.parametrize("mode", MODES)
def test_weights_that_were_never_computed_take_no_disk_space_and_can_be_read(estimate, mode):
    body = """
        import os, torch
        weights = torch.empty(64 << 20, device="cuda")
        small = torch.arange(100.0, device="cuda")
        torch.save({"large": weights, "small": small}, "large.pt")
        facts = os.stat("large.pt")
        again = torch.load("large.pt", map_location="cpu")
        print("size", facts.st_size > 256 << 20, "on disk", facts.st_blocks * 512 < 32 << 20)
        print("same", again["large"].count_nonzero().item() == 0, again["small"].sum().item() == 4950.0)
    """
    run = estimate(body, "--until-exit", VERITASEST_FILES=mode)
    assert b"size True on disk True" in run.stdout, run.text
    assert b"same True True" in run.stdout
    assert run.estimate["files"]["bytes"] > 256 << 20
