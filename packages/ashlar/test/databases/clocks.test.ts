import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  COMMAND,
  execute,
  generateApplication,
  type ServedProcess,
  startServing,
} from "../support/generated-application.ts";
import { administer, POSTGRES } from "../support/postgres-databases.ts";
import { onPostgres } from "../support/services.ts";
import { SocketVisitor } from "../support/socket-visitor.ts";

const AHEAD_SECONDS = 300;
const PASSWORD = "correct horse battery staple";

/** Where Debian's package puts the library that changes a process's clock. */
const LIBRARY = ["x86_64", "aarch64"]
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

/** Variables that shift a process's clock by some seconds. Timers still run at their usual pace. */
function clock(seconds: number): Record<string, string> {
  const sign = seconds < 0 ? "-" : "+";
  return { LD_PRELOAD: LIBRARY!, FAKETIME: `${sign}${Math.abs(seconds)}s`, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}

interface Mail {
  readonly to: string;
  readonly text: string;
}

describe.skipIf(LIBRARY === undefined && !process.env.CI)("with libfaketime", async () => {
  await onPostgres("two processes, one five minutes ahead and one five minutes behind,", () => {
    const database = `ashlar_clocks_${randomBytes(6).toString("hex")}`;
    const { host, port, user, password } = POSTGRES;
    const url = `postgres://${user}${password === undefined ? "" : `:${password}`}@${host}:${port}/${database}`;
    const processes: ServedProcess[] = [];
    let remove: (() => Promise<void>) | null = null;

    beforeAll(async () => {
      await administer(`create database ${database}`);
      const made = await generateApplication({ database: "postgres", pages: true, api: true });
      remove = made.remove;
      const environment = { DATABASE_URL: url };
      expect(await execute(made.root, process.execPath, [COMMAND, "migrate"], environment)).toMatchObject({ code: 0 });
      for (const seconds of [AHEAD_SECONDS, -AHEAD_SECONDS]) {
        processes.push(await startServing(made.root, { ...environment, ...clock(seconds) }));
      }
    });

    afterAll(async () => {
      for (const { child } of processes) child.kill("SIGKILL");
      await remove?.();
      await administer(`drop database if exists ${database} with (force)`);
    });

    /** A visitor of one of the processes, with the cookies of another visitor. */
    function visitor(
      index: number,
      { cookies }: { readonly cookies: ReadonlyMap<string, string> } = { cookies: new Map() },
    ) {
      const one = new SocketVisitor(processes[index]!.url);
      for (const [name, value] of cookies) one.cookies.set(name, value);
      return one;
    }

    async function mailTo(index: number, address: string, pattern: RegExp): Promise<string> {
      const found = async () => {
        const mails = JSON.parse((await visitor(index).get("/dev/mailbox.json")).body) as readonly Mail[];
        return mails.flatMap(({ to, text }) => (to.includes(address) ? (pattern.exec(text)?.[1] ?? []) : []))[0];
      };
      return expect.poll(found).toBeTruthy().then(found) as Promise<string>;
    }

    async function registered(index: number, email: string): Promise<SocketVisitor> {
      const one = visitor(index);
      const person = { name: "Ada", email, password: PASSWORD, password_confirmation: PASSWORD };
      expect((await one.submit("/register", person)).status).toBe(201);
      return one;
    }

    const isInside = async (one: SocketVisitor) => (await one.get("/logins")).status === 200;

    test.each([
      [0, 1],
      [1, 0],
    ])("share logins: %i and %i", async (one, other) => {
      const email = `logins-${one}@example.com`;
      await registered(one, email);
      const here = visitor(one);
      expect((await here.submit("/login", { email, password: PASSWORD })).status).toBe(200);
      const there = visitor(other, here);
      expect([await isInside(here), await isInside(there)]).toEqual([true, true]);
      // A form from one process, sent to the other.
      expect((await there.submit("/logout", {}, "/logins")).status).toBe(200);
      expect([await isInside(here), await isInside(there)]).toEqual([false, false]);
    });

    test.each([
      [0, 1],
      [1, 0],
    ])("share tokens: %i and %i", async (one, other) => {
      const email = `tokens-${one}@example.com`;
      await registered(one, email);
      const { status, body } = await visitor(one).post("/api/auth", { username: email, password: PASSWORD });
      expect(status).toBe(200);
      const renewal = await visitor(other).post("/api/reauth", { token: JSON.parse(body).data as string });
      expect(renewal.status).toBe(200);
      const authorization = `Bearer ${JSON.parse(renewal.body).data as string}`;
      for (const index of [one, other]) {
        const api = new SocketVisitor(processes[index]!.url, { headers: { authorization } });
        expect((await api.get("/api/me")).status).toBe(200);
      }
    });

    test.each([
      [0, 1],
      [1, 0],
    ])("share password links: %i and %i", async (one, other) => {
      const email = `resets-${one}@example.com`;
      await registered(one, email);
      expect((await visitor(one).submit("/change_password", { email })).status).toBe(202);
      const token = await mailTo(one, email, /\/password_reset\?token=(\S+)/);
      const password = "staple battery horse correct";
      const fields = { token: decodeURIComponent(token), password, password_confirmation: password };
      const page = `/password_reset?token=${token}`;
      expect((await visitor(other).submit("/password_reset", fields, page)).status).toBe(200);
      const login = visitor(one);
      expect((await login.submit("/login", { email, password })).status).toBe(200);
    });

    test("share limits, which end on time and not ten minutes later", async () => {
      const email = "limits@example.com";
      await registered(0, email);
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 6; attempt++) {
        const { status, headers } = await visitor(attempt % 2).submit("/login", {
          email,
          password: "a wrong password",
        });
        statuses.push(status);
        if (status === 429) expect(Number(headers["retry-after"])).toBeLessThanOrEqual(300);
      }
      expect(statuses).toEqual([422, 422, 422, 422, 422, 429]);
    });

    test("each log once how far their clock is off", async () => {
      for (const [index, side] of ["ahead of", "behind"].entries()) {
        const output = processes[index]!.output();
        const lines = output.split("\n").filter((line) => line.includes("The machine's clock is "));
        expect(lines).toEqual([
          expect.stringMatching(
            new RegExp(
              `The machine's clock is (299|300|301) seconds ${side} the database server's\\. The application uses`,
            ),
          ),
        ]);
      }
    });
  });
});
