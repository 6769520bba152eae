import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createApplication } from "../../boot/application/create-application.ts";
import { Route } from "../../routing/index.ts";
import type { Logger } from "../logger.ts";
import { currentRequestId } from "./after-response.ts";
import { Background } from "./background.ts";

function logging(): { readonly logger: Logger; readonly lines: unknown[] } {
  const lines: unknown[] = [];
  return { logger: { error: (...line: unknown[]) => lines.push(line) } as unknown as Logger, lines };
}

test("jobs begin in order, eight at a time", async () => {
  const background = new Background(logging().logger);
  const begun: number[] = [];
  let [now, most] = [0, 0];
  for (let job = 0; job < 30; job++) {
    background.run("a job", async () => {
      begun.push(job);
      most = Math.max(most, ++now);
      await turn();
      now--;
    });
  }
  expect([background.pending, begun]).toEqual([30, []]);
  await background.settled();
  expect([background.pending, most, begun]).toEqual([0, 8, Array.from({ length: 30 }, (_, job) => job)]);
});

test("running and queued jobs are counted, and settled waits for all of them", async () => {
  const background = new Background(logging().logger);
  const ends: (() => void)[] = [];
  for (let job = 0; job < 30; job++) background.run("a job", () => new Promise((resolve) => ends.push(resolve)));
  let isSettled = false;
  const settled = background.settled().then(() => {
    isSettled = true;
  });
  while (ends.length < 8) await turn();
  expect([background.pending, ends.length]).toEqual([30, 8]);
  for (let job = 0; job < 30; job++) {
    expect(isSettled).toBe(false);
    while (ends.length === job) await turn();
    ends[job]!();
    await turn();
    expect(background.pending).toBe(29 - job);
  }
  await settled;
});

test("a job that began before its request's response is done once", async () => {
  let done = 0;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/", async () => {
        application.background.run("a job", async () => void done++);
        await application.background.settled();
        return { done };
      }),
    ],
  });
  expect(await (await application.fetch(new Request("http://localhost/"))).json()).toEqual({ done: 1 });
  // Jobs that the response starts have begun by the end of the next turn.
  for (let count = 0; count < 3; count++) await turn();
  await application.shutdown();
  expect(done).toBe(1);
});

test("a job that fails is logged, and the next ones are done", async () => {
  const { logger, lines } = logging();
  const background = new Background(logger);
  const error = new Error("The disk is full.");
  const done: string[] = [];
  background.run("a registration", () => Promise.reject(error));
  background.run("another one", async () => void done.push("another one"));
  await background.settled();
  expect([done, lines]).toEqual([
    ["another one"],
    [[{ err: error, job: "a registration" }, "A background job failed."]],
  ]);
});

test("a job that another job starts is waited for", async () => {
  const background = new Background(logging().logger);
  const done: string[] = [];
  const second = () => background.run("the second", async () => void done.push("the second"));
  background.run("the first", async () => second());
  await background.settled();
  expect(done).toEqual(["the second"]);
});

test("a shutdown waits for jobs that requests have started", async () => {
  const done: string[] = [];
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/", () => {
        application.background.run("a job", async () => {
          for (let count = 0; count < 3; count++) await turn();
          done.push("job");
        });
        return "done";
      }),
    ],
  });
  await application.fetch(new Request("http://localhost/"));
  expect(done).toEqual([]);
  await application.shutdown();
  expect(done).toEqual(["job"]);
});

test("a job that another request's job makes room for belongs to its own request", async () => {
  const ids: (string | null)[] = [];
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/", ({ request }) => {
        application.background.run("a job", async () => {
          await turn();
          ids.push(currentRequestId());
        });
        return request.id;
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  for (const origin of [null, `http://127.0.0.1:${port}`]) {
    ids.length = 0;
    const ask = async (): Promise<string> => {
      const answer = origin === null ? application.fetch(new Request("http://localhost/")) : fetch(`${origin}/`);
      return (await answer).text();
    };
    const asked = await Promise.all(Array.from({ length: 20 }, ask));
    await application.background.settled();
    expect(ids.toSorted()).toEqual(asked.toSorted());
  }
});

test("S32 an unpredictable job begins at a random time within a second after the response", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const background = new Background(logging().logger);
  const start = performance.now();
  const begun: number[] = [];
  const JOBS = 400;
  for (let job = 0; job < JOBS; job++) {
    background.runUnpredictably("a job", async () => void begun.push(performance.now() - start));
  }
  await vi.advanceTimersByTimeAsync(0);
  const atOnce = begun.length;
  await vi.advanceTimersByTimeAsync(1000);
  expect([begun.length, background.pending]).toEqual([JOBS, 0]);
  // Each tenth of the second has its share, which is 40 on average: less than 8 is as good as impossible.
  const shares = Array.from({ length: 10 }, (_, tenth) => begun.filter((at) => Math.floor(at / 100) === tenth).length);
  expect(Math.min(...shares)).toBeGreaterThan(8);
  expect(atOnce).toBeLessThan(8);
});

test("an unpredictable job begins at once if someone waits for all jobs, as a shutdown does, and only once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const background = new Background(logging().logger);
  let done = 0;
  background.runUnpredictably("a job", async () => void done++);
  await background.settled();
  expect(done).toBe(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect([done, background.pending]).toEqual([1, 0]);
});
