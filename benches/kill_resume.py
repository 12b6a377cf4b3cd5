#!/usr/bin/env python3
"""kill -9 at random moments, each time resumed by the same command: the same pages as undisturbed, each exactly once.

    BED=DIR benches/kill_resume.py CRAWL_BINARY [--kills 10] [--seed N] [crawl flags ...]

BED as in compare_sites.py. An undisturbed run comes first; the moments are drawn from its duration. Exits with 1 if a page is
missing or duplicate, or a line is broken. The random seed is printed, so that a failure can be repeated.
"""
import argparse, collections, json, os, random, signal, subprocess, sys, tempfile, time


def command(binary, bed, folder, flags):
    out = [binary, "--seed", f"{bed}/seeds.txt", "--delay", "0s", "-c", "16", "--host-concurrency", "16",
           "--allow-private-addresses", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl", "--quiet", *flags]
    if os.path.exists(f"{bed}/resolve.txt"):
        with open(f"{bed}/resolve.txt") as lines:
            out += [word for line in lines if line.strip() for word in ("--resolve", line.strip())]
    return out


def pages(path):
    """Count of each URL, and the number of broken lines."""
    counts, broken = collections.Counter(), 0
    with open(path, "rb") as lines:
        for line in lines:
            try:
                counts[json.loads(line)["url"]] += line.endswith(b"\n")
            except ValueError:
                broken += 1
    return counts, broken


def finish(run):
    _, messages = run.communicate()
    if run.returncode:
        sys.exit(f"the run ended with {run.returncode}:\n{messages.decode(errors='replace')[-2000:]}")


def start(words):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    args, flags = parser.parse_known_args()
    bed = os.environ.get("BED") or sys.exit("BED is not set: the folder with seeds.txt")
    seed = args.seed if args.seed is not None else random.randrange(1 << 32)
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kill-resume-") as folder:
        for name in ("whole", "killed"):
            os.makedirs(f"{folder}/{name}")
        binary = os.path.abspath(args.binary)
        began = time.monotonic()
        finish(start(command(binary, bed, f"{folder}/whole", flags)))
        length = time.monotonic() - began
        want, broken = pages(f"{folder}/whole/pages.jsonl")
        print(f"undisturbed: {len(want)} pages in {length:.1f} s, {sum(want.values()) - len(want)} twice, {broken} broken; random seed {seed}", flush=True)

        words, done, state = command(binary, bed, f"{folder}/killed", flags), 0, f"{folder}/killed/pages.jsonl"
        while done < args.kills:
            run = start(words)
            try:
                # shares with a sum below the whole, so that the last run has pages left
                run.wait(dice.uniform(0.02, 1.2 / args.kills) * length)
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.communicate()
                done += 1
                lines = open(state, "rb").read().count(b"\n") if os.path.exists(state) else 0
                print(f"kill {done}: {lines} lines on disk", flush=True)
            else:
                finish(run)
                print(f"the crawl was over after {done} kills", flush=True)
                break
        else:
            finish(start(words))
        got, broken_got = pages(state)
    missing, extra = want.keys() - got.keys(), got.keys() - want.keys()
    twice = [url for url, n in got.items() if n != 1]
    print(f"killed {done} times: {len(got)} pages, {len(missing)} missing, {len(extra)} more, {len(twice)} not once, {broken_got} broken lines")
    for what, urls in (("missing", missing), ("more", extra), ("not once", twice)):
        for url in sorted(urls)[:5]:
            print(f"  {what}: {url}")
    sys.exit(bool(missing or extra or twice or broken or broken_got or sum(want.values()) != len(want) or done < args.kills))


if __name__ == "__main__":
    main()
