"""A teacher answers on a stream of its own while the student does its forward pass on the usual one."""

import argparse

import torch
import torch.nn.functional as F
import torchvision


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--student", default="resnet18")
    parser.add_argument("--teacher", default="resnet50")
    parser.add_argument("--batch-size", type=int, default=48)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--half", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    student = torchvision.models.get_model(args.student, weights=None, num_classes=100).cuda()
    teacher = torchvision.models.get_model(args.teacher, weights=None, num_classes=100).cuda().eval()
    if args.half:
        teacher = teacher.half()
    optimizer, side = torch.optim.SGD(student.parameters(), lr=0.01, momentum=0.9), torch.cuda.Stream()
    for _ in range(args.steps):
        images = torch.rand(args.batch_size, 3, args.size, args.size).cuda()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            images.record_stream(side)
            wanted = teacher(images.half() if args.half else images).float().softmax(-1)
        scores = student(images)
        torch.cuda.current_stream().wait_stream(side)
        wanted.record_stream(torch.cuda.current_stream())
        loss = F.cross_entropy(scores, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
