import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { versionsOfFleet } from "./fleet.ts";
import { DURABLE } from "./kills.ts";
import { type Ledger, live, type Person, visitorAs } from "./people.ts";
import { versionOf } from "./programs.ts";
import { startHaproxy } from "./proxies.ts";
import type { Outcome, Row, Scenario } from "./scenario.ts";
import { openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/** How many guesses target one account, for how long, and who uses the application in the meantime. */
export interface StormOptions {
  readonly guessesPerSecond: number;
  readonly seconds: number;
  readonly others: number;
}

/** The results of one kind of request. */
class Tally {
  readonly answers: Record<string, number> = {};
  readonly #ms: number[] = [];

  /** Sends a request, and records its result and duration. Never rejects. */
  async time(send: () => Promise<{ readonly status: number }>): Promise<void> {
    const sentAt = performance.now();
    const answer = await send().catch(({ code, message }: NodeJS.ErrnoException) => code ?? message);
    this.#ms.push(performance.now() - sentAt);
    const what = typeof answer === "string" ? answer : String(answer.status);
    this.answers[what] = (this.answers[what] ?? 0) + 1;
  }

  get count(): number {
    return this.#ms.length;
  }

  /** The share of requests that were answered with a status, from 0 to 1. */
  share(status: number): number {
    return (this.answers[status] ?? 0) / this.count;
  }

  /** A percentile of the requests' durations, in milliseconds. */
  quantile(part: number): number {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
  }

  row(what: string, when: string): Row {
    const answers = Object.entries(this.answers).map(([answer, count]) => `${answer}: ${count}`);
    const ms = (part: number) => Math.round(this.quantile(part));
    return {
      what,
      when,
      requests: this.count,
      answers: answers.join(", "),
      "median (ms)": ms(0.5),
      "p99 (ms)": ms(0.99),
    };
  }
}

/** How many API clients use tokens. */
const PROGRAMS = 4;

/** A storm's results, by sender. */
export interface StormResult {
  readonly rows: readonly Row[];
  /** The share of other users' logins that succeeded during the storm, from 0 to 1. */
  readonly logins: number;
  /** The share of the owner's logins from a known device that succeeded. */
  readonly owner: number;
  /** The durations of requests with a token, before and during the storm, in milliseconds. */
  readonly tokenP99: { readonly before: number; readonly during: number };
  readonly guesses: Readonly<Record<string, number>>;
}

/**
 * Sends wrong passwords for one account at a fixed rate, each from a different address, while other users log in, API
 * clients use tokens, and the owner logs in from a known device.
 */
export function storm({ guessesPerSecond, seconds, others }: StormOptions): Promise<StormResult> {
  return undoing(async (undo) => {
    const postgres = await startPostgres(await freePort(), DURABLE);
    undo(() => postgres.remove());
    const shop = await openShop("postgres", postgres.url);
    undo(() => shop.remove());
    const instances = [await shop.instance(), await shop.instance()] as const;
    for (const one of instances) undo(() => one.stop());
    await Promise.all(instances.map((one) => one.start()));
    const folder = mkdtempSync(join(tmpdir(), "ashlar-storm-"));
    undo(() => rmSync(folder, { recursive: true, force: true }));
    const { port, program } = await startHaproxy(folder, [instances[0].port, instances[1].port]);
    undo(() => program.stop());

    const ledger: Ledger = { people: [], requests: 0, acknowledged: 0, failed: {} };
    // Those with an odd number keep their password. A login replaces a token, so API clients have separate users.
    for (let number = 0; number <= others + PROGRAMS; number++) await live(ledger, shop.mail, port, number * 2 + 1);
    const [owner, ...all] = ledger.people as [Person, ...Person[]];
    if (all.length !== others + PROGRAMS)
      throw new Error(`Not everybody could register: ${JSON.stringify(ledger.failed)}.`);
    const clients = all.map((person) => ({ person, visitor: visitorAs(person, port) }));
    const [programs, users] = [clients.slice(0, PROGRAMS), clients.slice(PROGRAMS)];
    const device = visitorAs(owner, port);
    await device.submit("/login", { email: owner.email, password: owner.passwords[0]! });
    // The only trace of a login that has ended.
    const known = [...device.cookies].filter(([name]) => name.endsWith("device"));
    if (known.length === 0) throw new Error(`The login left the cookies ${[...device.cookies.keys()].join(", ")}.`);

    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
    undo(() => agent.destroy());
    const guess = (number: number) => {
      const fields = new URLSearchParams({ username: owner.email, password: `guess number ${number}` }).toString();
      return send(agent, port, addressOf(number), fields);
    };
    const before = { tokens: new Tally(), logins: new Tally() };
    await using(before, 5);
    const during = { tokens: new Tally(), logins: new Tally(), guesses: new Tally(), owner: new Tally() };
    await Promise.all([
      using(during, seconds),
      paced(guessesPerSecond, seconds, (number) => during.guesses.time(() => guess(number))),
      paced(0.5, seconds, () =>
        during.owner.time(() => {
          const browser = visitorAs(owner, port);
          for (const [name, value] of known) browser.cookies.set(name, value);
          return browser.submit("/login", { email: owner.email, password: owner.passwords[0]! });
        }),
      ),
    ]);
    return {
      rows: [
        before.tokens.row("requests with a token", "before"),
        during.tokens.row("requests with a token", "during"),
        before.logins.row("logins of others", "before"),
        during.logins.row("logins of others", "during"),
        during.owner.row("logins of the owner, known device", "during"),
        during.guesses.row("guesses", "during"),
      ],
      logins: during.logins.share(200),
      owner: during.owner.share(200),
      tokenP99: { before: before.tokens.quantile(0.99), during: during.tokens.quantile(0.99) },
      guesses: during.guesses.answers,
    };

    /** Starts the other users. */
    async function using({ tokens, logins }: { tokens: Tally; logins: Tally }, forSeconds: number): Promise<void> {
      await Promise.all([
        paced(20, forSeconds, (number) => {
          const { person, visitor } = programs[number % PROGRAMS]!;
          return tokens.time(() => visitor.getWithToken("/api/orders", person.token!));
        }),
        paced(2, forSeconds, (number) => {
          const { person, visitor } = users[number % others]!;
          return logins.time(() =>
            visitor.post("/api/auth", { username: person.email, password: person.passwords[0]! }),
          );
        }),
      ]);
    }
  });
}

/** Starts a task at a fixed rate, whether or not earlier ones have finished, and waits for all of them at the end. */
async function paced(perSecond: number, seconds: number, start: (number: number) => Promise<void>): Promise<void> {
  const beganAt = performance.now();
  const all: Promise<void>[] = [];
  while (all.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, ((performance.now() - beganAt) / 1000) * perSecond);
    while (all.length < due) all.push(start(all.length));
    await sleep(5);
  }
  await Promise.all(all);
}

/** How long a client waits for an answer. */
const PATIENCE_MS = 20_000;

const addressOf = (number: number): string => `100.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;

function send(agent: Agent, port: number, address: string, body: string): Promise<{ status: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number }>();
  const headers = {
    host: "shop.example",
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
    "x-forwarded-for": address,
  };
  const options = { agent, port, host: "127.0.0.1", method: "POST", path: "/api/auth", headers, timeout: PATIENCE_MS };
  const sent = request(options, (answer) => {
    answer.resume().on("end", () => resolve({ status: answer.statusCode! }));
  });
  sent.on("timeout", () => sent.destroy(new Error("timeout"))).on("error", reject);
  sent.end(body);
  return promise;
}

const BIG: StormOptions = { guessesPerSecond: 500, seconds: 30, others: 8 };

export const STORM: Scenario = {
  name: "storm",
  title: "A storm of guesses at one account",
  about:
    "Two instances with two workers each, behind HAProxy, on PostgreSQL, with the settings of a new application. " +
    `An attacker tries ${BIG.guessesPerSecond} wrong passwords a second at one account, each from a different ` +
    `address. In the meantime, ${BIG.others} other users log in, two logins a second, ${PROGRAMS} API clients send 20 ` +
    "requests a second with tokens, and the account's owner logs in from a known device.",
  seconds: 180,
  async run(): Promise<Outcome> {
    const { rows, logins, owner } = await storm(BIG);
    const failures: string[] = [];
    if (logins < 0.95) failures.push(`Only ${Math.round(logins * 100)} % of the others' logins succeeded.`);
    if (owner < 0.95) failures.push(`Only ${Math.round(owner * 100)} % of the owner's logins succeeded.`);
    return { versions: { ...versionsOfFleet(), PostgreSQL: versionOf("psql", "--version") }, rows, failures };
  },
};
