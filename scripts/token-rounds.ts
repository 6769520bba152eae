// `npm run token-rounds`: many rounds of parallel renewals of a refresh token by two processes on one database, while one
// more client disconnects during its renewal. It checks that each round has one successor, that a lost answer is repeated,
// and that the user has a valid token. In every tenth round, it also checks that the answer is repeated until the minute is
// over, and that reuse after that ends the login.
//
//   npm run token-rounds                                         1,000 rounds on a file of SQLite
//   npm run token-rounds -- --rounds 100 --database postgres --url postgres://postgres@127.0.0.1:5432/rounds
import { type ChildProcess, fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { generateSecret } from "../packages/ashlar/src/public/security.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "1000" },
    parallel: { type: "string", default: "20" },
    database: { type: "string", default: "sqlite" },
    url: { type: "string" },
  },
});
const [rounds, parallel] = [Number(values.rounds), Number(values.parallel)];
const folder = mkdtempSync(join(tmpdir(), "token-rounds-"));
const environment = {
  ...process.env,
  DATABASE: values.database,
  DATABASE_URL: values.url ?? join(folder, "rounds.sqlite"),
  SECRET: generateSecret(),
};

interface Pair {
  readonly data: string;
  readonly refresh: string;
  /** The response of `/stored`: how many rows have the token. */
  readonly rows?: number;
}

const children: ChildProcess[] = [];

async function start(...flags: string[]): Promise<string> {
  const child = fork(join(import.meta.dirname, "token-rounds/server.ts"), flags, { env: environment });
  children.push(child);
  const [url] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => Promise.reject(new Error("A process has ended."))),
  ]);
  return url as string;
}

async function post(url: string, path: string, inputs: object = {}): Promise<{ status: number; body: Pair }> {
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(inputs),
  });
  return { status: response.status, body: (await response.json()) as Pair };
}

const failures: string[] = [];

function expect(round: number, what: string, holds: boolean): void {
  if (!holds) failures.push(`Round ${round}: ${what}`);
}

/** Sends a request whose client disconnects after a while: whether or not it took effect, its answer is lost. */
async function lose(url: string, token: string): Promise<void> {
  const controller = new AbortController();
  const lost = fetch(new URL("/api/reauth", url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
    signal: controller.signal,
  }).then(
    (response) => response.body?.cancel(),
    () => {},
  );
  setTimeout(() => controller.abort(), randomInt(30));
  await lost;
}

async function run(urls: readonly [string, string]): Promise<void> {
  const credentials = { username: "ada@example.com", password: "a password of hers" };
  const isIn = async (url: string, { data }: Pair): Promise<boolean> => {
    const { status } = await fetch(new URL("/open", url), { headers: { authorization: `Bearer ${data}` } });
    return status === 200;
  };
  const renew = (url: string, { refresh }: Pair) => post(url, "/api/reauth", { token: refresh });
  for (let round = 0; round < rounds; round++) {
    const [one, other] = round % 2 === 0 ? urls : ([urls[1], urls[0]] as const);
    const { body: first } = await post(one, "/api/auth", credentials);
    const losing = lose(other, first.refresh);
    const answers = await Promise.all(
      Array.from({ length: parallel }, (_, index) => renew(index % 2 === 0 ? one : other, first)),
    );
    await losing;
    const successors = new Set(answers.map(({ status, body }) => `${status} ${body.refresh}`));
    expect(round, `${successors.size} different answers`, successors.size === 1 && answers[0]!.status === 200);
    const next = answers.at(-1)!.body;
    const again = await renew(other, first);
    expect(round, "a lost answer is not given again", again.body.refresh === next.refresh);
    expect(round, "the user has no valid token", await isIn(other, again.body));
    const { body: stored } = await post(one, "/stored", { token: next.refresh });
    expect(round, "another successor is stored", stored.rows === 1);
    if (round % 10 !== 9) continue;
    const age = (seconds: number) => post(one, "/age", { token: next.refresh, seconds });
    await age(58);
    expect(
      round,
      "a lost answer is not given again at the end of the minute",
      (await renew(one, first)).status === 200,
    );
    await age(3);
    expect(round, "reuse is accepted", (await renew(other, first)).status === 401);
    expect(round, "reuse does not end the login", (await renew(one, next)).status === 401 && !(await isIn(one, next)));
    const { body: fresh } = await post(other, "/api/auth", credentials);
    expect(round, "the user can't get another token", (await isIn(one, fresh)) && (await isIn(other, fresh)));
  }
}

try {
  const urls = [await start("--create"), await start()] as const;
  const begun = performance.now();
  await run(urls);
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  for (const failure of failures) console.error(failure);
  console.log(`${rounds} rounds of ${parallel} on ${values.database} in ${seconds} s: ${failures.length} failures`);
  if (failures.length > 0) process.exitCode = 1;
} finally {
  for (const child of children) {
    const ended = once(child, "exit");
    child.disconnect();
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}
