"""A student trained on labels first; a larger teacher joins after some epochs."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=3, optimizer="sgdm")
    parser.add_argument("--student", default="resnet18")
    parser.add_argument("--teacher", default="resnet101")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--start", type=int, default=1, help="epoch at which the teacher joins")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--half-teacher", action="store_true", help="teacher's weights in half precision")
    args = parser.parse_args()
    torch.manual_seed(0)
    student, teacher = classifier(args.student).cuda(), None
    optimizer, amp = make_optimizer(args.optimizer, student.parameters()), Amp(args.precision)
    train = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    test = DataLoader(Images(100, args.size), 50)
    for epoch in range(args.epochs):
        if epoch == args.start:
            teacher = classifier(args.teacher).cuda().eval().requires_grad_(False)
            if args.half_teacher:
                teacher = teacher.half()
        student.train()
        for images, labels in train:
            images, labels = images.cuda(), labels.cuda()
            with amp.autocast():
                scores = student(images)
                loss = F.cross_entropy(scores, labels)
                if teacher is not None:
                    with torch.no_grad():
                        wanted = teacher(images.half() if args.half_teacher else images)
                    soft = F.kl_div(
                        F.log_softmax(scores / 4, 1), F.softmax(wanted.float() / 4, 1), reduction="batchmean"
                    )
                    loss = loss + 16 * soft
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        student.eval()
        with torch.no_grad():
            right = sum((student(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in test)
        print(f"epoch {epoch}: {loss.item():.3f}, {right} right")


if __name__ == "__main__":
    main()
