// The cost of checking an access token of many() as the table of tokens grows: the server's and the database's CPU time per
// request.
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { type Database, sql } from "ashlar/database";
import { migrationOfStub } from "../../packages/ashlar/test/support/migration-folder.ts";
import { ACCESS_EPOCH, MANY_SECRET, makeToken, PASSWORD_HASH } from "../fixtures.ts";
import { load, preciseCpuTime, startServer } from "../processes.ts";
import { growthApplication } from "../servers/growth-application.ts";
import { createDatabase, databaseCpuTime, dropDatabase, type Engine, type Grown, opened } from "./engines.ts";
import { writeRequests } from "./requests.ts";
import { migrate } from "./rows.ts";
import type { Cost } from "./users.ts";

/** The second size is compared with the first. */
export const TOKEN_SIZES: readonly [number, number] = [1000, 1_000_000];
const BATCH = 100_000;
const TOKENS_PER_USER = 10;
/** How many tokens send requests: the same number for each size. */
const CLIENTS = 1000;
const FIRST_PORT = 4130;
const WARM_UP_SECONDS = 2;

/** What was found out about one engine. */
export interface TokenGrowth {
  readonly engine: Engine;
  /** For each size, a cost for each round, in microseconds. */
  readonly series: readonly { readonly size: number; readonly costs: readonly Cost[] }[];
  /** The plan of the statement that checks a token, with the most tokens. */
  readonly plan: string;
}

interface Running {
  readonly grown: Grown;
  readonly tokens: readonly string[];
  readonly server: ChildProcess;
  readonly url: string;
  readonly script: string;
}

/** Inserts ten tokens for each user, and returns access tokens for a thousand of them, spread over the table. */
async function fill(grown: Grown): Promise<readonly string[]> {
  const { engine, size } = grown;
  // Ascending families: random ones would be inserted into an index at random places.
  const family = "concat(1000000000 + n, 'abcdefghijkl')";
  return await opened(grown, async (database) => {
    const run = (statement: string): Promise<unknown> => sql.raw(statement).execute(database.kysely);
    const { up } = await migrationOfStub("api/create_api_tokens.ts.stub");
    await up(database.kysely as never);
    await database.transaction(async () => {
      for (const statement of engine.prepare) await run(statement);
      for (let from = 1; from <= size; from += BATCH) {
        const last = Math.min(size, from + BATCH - 1);
        const users = engine.numbers(Math.ceil(from / TOKENS_PER_USER), Math.floor(last / TOKENS_PER_USER));
        await run(`insert into users (id, name, email, password, access_epoch, created_at, updated_at)
          select n, concat('User ', n), concat('user', n, '@example.com'), '${PASSWORD_HASH}', '${ACCESS_EPOCH}',
            ${engine.time(0)}, ${engine.time(0)} from ${users}`);
        await run(`insert into api_tokens (user_id, guard, name, family, token_hash, access_epoch, last_used_at, expires_at,
            created_at)
          select 1 + floor((n - 1) / ${TOKENS_PER_USER}), 'many', 'benchmark', ${family},
            concat(${engine.randomText}, 'abc'), '${ACCESS_EPOCH}', ${engine.time(0)}, ${engine.time(30)},
            ${engine.time(0)} from ${engine.numbers(from, last)}`);
      }
    });
    for (const statement of [...engine.settle, ...settled(engine)]) await run(statement);
    return await clientsOf(database, size);
  });
}

const settled = ({ driver }: Engine): readonly string[] => {
  if (driver === "postgres") return ["vacuum analyze api_tokens"];
  return driver === "mariadb" ? ["analyze table api_tokens"] : [];
};

async function clientsOf(database: Database, size: number): Promise<readonly string[]> {
  const tokens: string[] = [];
  for (let index = 0; index < CLIENTS; index++) {
    const id = 1 + Math.floor((index * size) / CLIENTS);
    const { rows } = await sql<{ family: string; user_id: number }>`
      select family, user_id from api_tokens where id = ${id}`.execute(database.kysely);
    tokens.push(makeToken(Number(rows[0]!.user_id), { sid: rows[0]!.family }, MANY_SECRET));
  }
  return tokens;
}

async function start(grown: Grown, port: number): Promise<Running> {
  await migrate(grown);
  const tokens = await fill(grown);
  const server = await startServer({
    name: `${grown.engine.name} with ${grown.size} tokens`,
    script: "growth.ts",
    port,
    environment: { CONNECTION: JSON.stringify(grown.settings) },
  });
  const url = `http://127.0.0.1:${port}`;
  const headers = tokens.map((token) => ["Authorization", `Bearer ${token}`] as const);
  const script = await writeRequests(
    `check-${grown.size}`,
    headers.map((header) => ({ path: "/check", header })),
  );
  // A refusal is fast, and would look like a cheap check.
  for (const header of [headers[0]!, headers.at(-1)!]) {
    const { status } = await fetch(`${url}/check`, { headers: [[...header]] });
    if (status !== 200) throw new Error(`A check responds with ${status}`);
  }
  return { grown, tokens, server, url, script };
}

async function measure({ grown, server, url, script }: Running, seconds: number): Promise<Cost> {
  const [before, inDatabase] = [preciseCpuTime(server.pid!), await databaseCpuTime(grown)];
  const { requests } = await load(url, script, seconds);
  return {
    server: ((preciseCpuTime(server.pid!) - before) * 1000) / requests,
    database: ((await databaseCpuTime(grown)) - inDatabase) / requests,
  };
}

/** The plan of the statement that a check sends. */
async function planOf({ grown, tokens }: Running): Promise<string> {
  const application = await growthApplication(grown.settings);
  let statement = "";
  try {
    const end = application.container.make("database").onQuery(({ sql }) => {
      statement = sql;
    });
    const headers = { authorization: `Bearer ${tokens[0]}` };
    await application.fetch(new Request("http://127.0.0.1/check", { headers }), { address: "127.0.0.1" });
    end();
  } finally {
    await application.shutdown();
  }
  const value = randomBytes(16).toString("base64url");
  const plan = await opened(grown, (database) => grown.engine.plan(database, statement, value));
  return plan.replaceAll(`'${value}'`, "?");
}

/** Measures an engine. Its databases exist only for as long as that takes. */
export async function measureTokens(engine: Engine, rounds: number, seconds: number): Promise<TokenGrowth> {
  const running: Running[] = [];
  try {
    for (const [index, size] of TOKEN_SIZES.entries()) {
      running.push(await start(await createDatabase(engine, size), FIRST_PORT + index));
    }
    for (const { url, script } of running) await load(url, script, WARM_UP_SECONDS);
    const costs = new Map<Running, Cost[]>(running.map((one) => [one, []]));
    for (let round = 0; round < rounds; round++) {
      for (const one of round % 2 === 0 ? running : running.toReversed()) {
        costs.get(one)!.push(await measure(one, seconds));
      }
    }
    const series = [...costs].map(([{ grown }, found]) => ({ size: grown.size, costs: found }));
    return { engine, series, plan: await planOf(running.at(-1)!) };
  } finally {
    for (const { server } of running) server.kill("SIGKILL");
    for (const size of TOKEN_SIZES) await dropDatabase(engine, size);
  }
}
