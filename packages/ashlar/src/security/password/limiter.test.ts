import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Limiter } from "./limiter.ts";

/** Tasks that end when they are told to, and what was started so far. */
function tasks() {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const task = (number: number) => () => {
    started.push(number);
    return new Promise<number>((resolve) => {
      ends[number] = () => resolve(number);
    });
  };
  return { started, ends, task };
}

describe("Limiter", () => {
  test("S34 no more than so many run at once", async () => {
    const limiter = new Limiter(3, 1000);
    let running = 0;
    let most = 0;
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, number) =>
        limiter.run(async () => {
          most = Math.max(most, ++running);
          await sleep(Math.random() * 3);
          running--;
          return number;
        }),
      ),
    );
    expect(most).toBe(3);
    expect(results).toEqual(Array.from({ length: 100 }, (_, number) => number));
  });

  test("those who wait are served in the order of arrival, and nobody slips in between", async () => {
    const limiter = new Limiter(1, 10);
    const { started, ends, task } = tasks();
    const first = limiter.run(task(0));
    const second = limiter.run(task(1));
    ends[0]!();
    await first;
    const third = limiter.run(task(2));
    await sleep(1);
    expect(started).toEqual([0, 1]);
    ends[1]!();
    await second;
    await sleep(1);
    ends[2]!();
    expect(await third).toBe(2);
    expect(started).toEqual([0, 1, 2]);
  });

  test("S34 whoever finds the line full gets 503 with Retry-After, and nobody else is disturbed", async () => {
    const limiter = new Limiter(1, 2);
    const { started, ends, task } = tasks();
    const admitted = [0, 1, 2].map((number) => limiter.run(task(number)));
    await expect(limiter.run(task(3))).rejects.toMatchObject({
      code: "E_OVERLOADED",
      status: 503,
      headers: { "Retry-After": "1" },
    });
    for (let number = 0; number < 3; number++) {
      ends[number]!();
      expect(await admitted[number]).toBe(number);
      await sleep(1);
    }
    expect(started).toEqual([0, 1, 2]);
  });

  test("after the rush there is room again", async () => {
    const limiter = new Limiter(1, 0);
    const { ends, task } = tasks();
    const admitted = limiter.run(task(0));
    await expect(limiter.run(task(1))).rejects.toMatchObject({ code: "E_OVERLOADED" });
    ends[0]!();
    await admitted;
    expect(await limiter.run(async () => "done")).toBe("done");
  });

  test("a task that fails gives its place back", async () => {
    const limiter = new Limiter(1, 1);
    const fail = async () => {
      throw new Error("no");
    };
    const failing = [limiter.run(fail), limiter.run(fail)];
    expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await limiter.run(async () => "done")).toBe("done");
  });
});
