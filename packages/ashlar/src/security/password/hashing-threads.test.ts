import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const security = new URL("../index.ts", import.meta.url).href;

/** What a process of its own says of its threads' priorities, before and after it has hashed a password. */
async function priorities(): Promise<{ readonly before: number[]; readonly after: number[]; readonly loop: number }> {
  const program = `
    import { readdirSync, readFileSync } from "node:fs";
    import { getPriority } from "node:os";
    import { hashPassword } from ${JSON.stringify(security)};
    const pool = () => readdirSync("/proc/self/task")
      .filter((thread) => readFileSync("/proc/self/task/" + thread + "/comm", "utf8") === "libuv-worker\\n")
      .map((thread) => getPriority(Number(thread)));
    const before = pool();
    await hashPassword("correct horse");
    console.log(JSON.stringify({ before, after: pool(), loop: getPriority(process.pid) }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  return JSON.parse(stdout);
}

describe.skipIf(process.platform !== "linux")("the threads that hash, on Linux", () => {
  test("S34 they give way to the event loop from the first hash on", async () => {
    const { before, after, loop } = await priorities();
    expect(before.every((priority) => priority === loop)).toBe(true);
    expect(after).toEqual([loop + 10, loop + 10, loop + 10, loop + 10]);
  });
});
