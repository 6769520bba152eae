import { syncBuiltinESMExports } from "node:module";
import os, { getPriority } from "node:os";
import { MessagePort, Worker } from "node:worker_threads";
import { hashSync } from "bcryptjs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { outputOf } from "../../../test/support/own-process.ts";
import { DEFAULT_PARAMETERS } from "./argon2-hash.ts";
import { type HashingJob, HashingThreads } from "./hashing-threads.ts";

const PLAIN = "correct horse battery staple";
/** A hash that takes a millisecond to verify. */
const QUICK = hashSync(PLAIN, 4);
const JOB = { hash: QUICK, plain: PLAIN, parameters: DEFAULT_PARAMETERS };
/** Makes a thread fail with an error. */
const FATAL = null as unknown as HashingJob;

/** The threads that got a job during a test. */
const workers = new Set<Worker>();
/** The calls that let a thread keep the process alive (true) or stop it from doing so (false). */
const holds: boolean[] = [];

beforeEach(() => {
  const { ref, unref } = Worker.prototype;
  // A thread keeps the process alive from its first job on.
  vi.spyOn(Worker.prototype, "ref").mockImplementation(function (this: Worker) {
    workers.add(this);
    holds.push(true);
    Reflect.apply(ref, this, []);
  });
  vi.spyOn(Worker.prototype, "unref").mockImplementation(function (this: Worker) {
    holds.push(false);
    Reflect.apply(unref, this, []);
  });
});

afterEach(async () => {
  // When a thread ends, another one takes over its waiting jobs, so threads may be added during this loop.
  for (const worker of workers) await worker.terminate();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  vi.unstubAllEnvs();
  workers.clear();
  holds.length = 0;
});

describe("HashingThreads", () => {
  test("S34 at most the allowed number of threads hash, and every job gets its own result", async () => {
    const threads = new HashingThreads({ threads: 2 });
    const plains = Array.from({ length: 40 }, (_, i) => (i % 3 === 0 ? PLAIN : `wrong ${i}`));
    const answers = await Promise.all(plains.map((plain) => threads.run({ ...JOB, plain })));
    expect(answers).toEqual(plains.map((plain) => plain === PLAIN));
    expect(workers.size).toBe(2);
  });

  test("a thread is started when all others are busy, and is kept", async () => {
    const threads = new HashingThreads({ threads: 3 });
    await threads.run(JOB);
    await threads.run(JOB);
    expect(workers.size).toBe(1);
    await Promise.all([threads.run(JOB), threads.run(JOB)]);
    expect(workers.size).toBe(2);
    await Promise.all(Array.from({ length: 20 }, () => threads.run(JOB)));
    expect(workers.size).toBe(3);
    // The thread's name in a list of the process's threads.
    for (const { threadName } of workers) expect(threadName).toBe("password-hash");
  });

  test("waiting jobs run in the order of arrival, and a new job can't jump the queue", async () => {
    const threads = new HashingThreads({ threads: 1 });
    const order: number[] = [];
    const run = (number: number) => threads.run(JOB).then(() => order.push(number));
    // Arrives exactly when the first one makes room.
    const late = run(0).then(() => run(10));
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(run));
    await late;
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("S34 any job past the end of the queue is refused with 503 and Retry-After", async () => {
    const threads = new HashingThreads({ threads: 1, maxWaiting: 2 });
    const jobs = [JOB, { ...JOB, hash: "!" }, JOB, { ...JOB, plain: "wrong" }];
    const beyond = [JOB, { ...JOB, hash: null }, { ...JOB, hash: "!" }];
    const outcomes = await Promise.allSettled([...jobs, ...beyond].map((job) => threads.run(job)));
    const answers = outcomes.slice(0, 4).map((outcome) => outcome.status === "fulfilled" && outcome.value);
    expect(answers).toEqual([true, false, true, false]);
    for (const outcome of outcomes.slice(4)) {
      const reason = { status: 503, code: "E_OVERLOADED", headers: { "Retry-After": "1" } };
      expect(outcome).toMatchObject({ status: "rejected", reason });
    }
    expect(await threads.run(JOB)).toBe(true);
  });

  test.each([
    [1, 1],
    [64, 8],
  ])("S34 with %i cores, %i threads hash by default, and 64 jobs may wait per thread", async (cores, expected) => {
    vi.spyOn(os, "availableParallelism").mockReturnValue(cores);
    syncBuiltinESMExports();
    const threads = new HashingThreads();
    const admitted = expected * (1 + 1 + 64);
    const outcomes = await Promise.allSettled(Array.from({ length: admitted + 3 }, () => threads.run(JOB)));
    expect(workers.size).toBe(expected);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(admitted);
  });

  test("a thread keeps the process alive until its last job is done", async () => {
    const threads = new HashingThreads({ threads: 1 });
    await threads.run(JOB);
    expect(holds).toEqual([true, false]);
    await Promise.all([threads.run(JOB), threads.run(JOB)]);
    expect(holds).toEqual([true, false, true, false]);
  });

  test("a job that fails is an error, and the thread continues", async () => {
    const threads = new HashingThreads({ threads: 1 });
    const impossible = { ...JOB, hash: null, plain: null as unknown as string };
    const [failed, done] = await Promise.allSettled([threads.run(impossible), threads.run(JOB)]);
    expect(failed).toMatchObject({ status: "rejected", reason: { code: "E_INTERNAL", status: 500 } });
    expect((failed as PromiseRejectedResult).reason.cause).toBeInstanceOf(Error);
    expect(done).toEqual({ status: "fulfilled", value: true });
    expect(workers.size).toBe(1);
  });

  test.each([1, 3])("if a thread dies, its jobs fail and another runs the waiting ones: %i", async (waiting) => {
    const threads = new HashingThreads({ threads: 1 });
    await threads.run(JOB);
    const outcomes = Promise.allSettled(Array.from({ length: 2 + waiting }, () => threads.run(JOB)));
    for (const worker of workers) void worker.terminate();
    const statuses = (await outcomes).map(({ status }) => status);
    expect(statuses).toEqual(["rejected", "rejected", ...Array.from({ length: waiting }, () => "fulfilled")]);
    expect((await outcomes)[0]).toMatchObject({ reason: { code: "E_INTERNAL", status: 500 } });
    expect(workers.size).toBe(2);
  });

  test("a result that a thread has sent counts even if its exit is noticed first", async () => {
    const { on } = MessagePort.prototype;
    // No result arrives until the thread has ended.
    vi.spyOn(MessagePort.prototype, "on").mockImplementation(function (this: MessagePort, event: string, listener) {
      return event === "message" ? this : Reflect.apply(on, this, [event, listener]);
    });
    const threads = new HashingThreads({ threads: 1 });
    const [answered, ended] = await Promise.allSettled([threads.run(JOB), threads.run(FATAL)]);
    expect(answered).toEqual({ status: "fulfilled", value: true });
    expect(ended).toMatchObject({ reason: { code: "E_INTERNAL" } });
  });

  test("without any Argon2, every job fails with the name of the package to install", async () => {
    const removed = `import crypto from "node:crypto"; import { syncBuiltinESMExports } from "node:module";
      crypto.argon2Sync = undefined; syncBuiltinESMExports();`;
    vi.stubEnv("NODE_OPTIONS", `--import data:text/javascript,${encodeURIComponent(removed)}`);
    vi.stubEnv("NAPI_RS_NATIVE_LIBRARY_PATH", "/no/such/binary.node");
    const threads = new HashingThreads({ threads: 1 });
    for (const hash of [null, QUICK]) {
      await expect(threads.run({ ...JOB, hash })).rejects.toMatchObject({
        code: "E_MISSING_PACKAGE",
        message: "Passwords need Argon2. Run `npm install @node-rs/argon2`.",
      });
    }
  });

  test("a job that kills its thread gets the cause", async () => {
    const message = "A password could not be hashed or verified: its thread failed.";
    const reason = { code: "E_INTERNAL", status: 500, message, cause: { name: "TypeError" } };
    await expect(new HashingThreads({ threads: 1 }).run(FATAL)).rejects.toMatchObject(reason);
  });
});

describe("a process that has hashed", () => {
  /** The output of a program that hashes a password, and then has nothing left to do. */
  function output(program: string): Promise<string> {
    const passwords = JSON.stringify(new URL("passwords.ts", import.meta.url).href);
    return outputOf(`import { hashPassword, verifyPassword } from ${passwords};\n${program}`);
  }

  test("stays alive until the result is there, and then exits", async () => {
    const program = `
      hashPassword("correct horse").then((hash) => {
        setTimeout(() => verifyPassword(hash, "correct horse").then((answer) => console.log(answer)), 50);
      });
    `;
    expect(await output(program)).toBe("true\n");
  });

  test.skipIf(process.platform !== "linux")("S34 on Linux, has threads with a lower priority", async () => {
    const program = `
      import { readdirSync, readFileSync } from "node:fs";
      import { getPriority } from "node:os";
      await hashPassword("correct horse");
      const threads = readdirSync("/proc/self/task").map((id) => {
        return [readFileSync("/proc/self/task/" + id + "/comm", "utf8").trim(), getPriority(Number(id))];
      });
      console.log(JSON.stringify(threads));
    `;
    const threads = JSON.parse(await output(program)) as [string, number][];
    const nicer = threads.filter(([, priority]) => priority !== getPriority());
    expect(nicer).toEqual([["password-hash", getPriority() + 12]]);
  });
});
