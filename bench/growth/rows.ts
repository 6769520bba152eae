// Fills a database with users and logins, and gives known tokens to some of them, spread over the tables.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Database, sql } from "ashlar/database";
import { ACCESS_EPOCH, makeToken, PASSWORD_HASH, sha256 } from "../fixtures.ts";
import { type Engine, type Grown, opened } from "./engines.ts";

const BATCH = 100_000;
/** How many users send requests: the same number for each size, because a server caches recent rows. */
const VISITORS = 1000;
const REPOSITORY = join(import.meta.dirname, "../..");

/** A user who sends requests. */
export interface Visitor {
  readonly email: string;
  /** The token of the login, as in the browser's cookie. */
  readonly loginToken: string;
  readonly apiToken: string;
}

/** Creates the tables as a new application does: with its own migrations, by its own command. */
export async function migrate({ engine, settings }: Grown): Promise<void> {
  const folder = join(tmpdir(), `ashlar-growth-${process.pid}`, engine.driver);
  await rm(folder, { recursive: true, force: true });
  await mkdir(dirname(folder), { recursive: true });
  const create = join(REPOSITORY, "packages/create-ashlar/bin/create-ashlar.js");
  const flags = ["--yes", "--no-install", "--no-migrate", "--database", engine.driver];
  execFileSync(process.execPath, [create, folder, ...flags], { stdio: "ignore" });
  await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
  const { path, url } = settings;
  const where = path === undefined ? { DATABASE_URL: String(url) } : { DATABASE_PATH: String(path) };
  execFileSync(process.execPath, [join(REPOSITORY, "packages/ashlar/bin/ashlar.js"), "migrate"], {
    cwd: folder,
    env: { ...process.env, ...where, DATABASE_CONNECTION: engine.driver },
    stdio: ["ignore", "ignore", "inherit"],
  });
  await rm(dirname(folder), { recursive: true, force: true });
}

/** Inserts as many users as the database is to have, each with one login, and returns those who send requests. */
export async function fill(grown: Grown): Promise<readonly Visitor[]> {
  const { engine, size } = grown;
  return await opened(grown, async (database) => {
    const run = (statement: string): Promise<unknown> => sql.raw(statement).execute(database.kysely);
    const digest = digestInOrder(engine, size);
    // In a transaction, because its statements share one connection.
    await database.transaction(async () => {
      for (const statement of engine.prepare) await run(statement);
      for (let from = 1; from <= size; from += BATCH) {
        const numbers = engine.numbers(from, Math.min(size, from + BATCH - 1));
        await run(`insert into users (id, name, email, password, access_epoch, api_token, created_at, updated_at)
          select n, concat('User ', n), concat('user', n, '@example.com'), '${PASSWORD_HASH}', '${ACCESS_EPOCH}',
            ${digest}, ${engine.time(0)}, ${engine.time(0)} from ${numbers}`);
        await run(`insert into logins (user_id, guard, token_hash, access_epoch, ip, user_agent, authenticated_at,
            last_used_at, expires_at, created_at)
          select n, 'web', ${digest}, '${ACCESS_EPOCH}', '127.0.0.1', 'benchmark', ${engine.time(0)},
            ${engine.time(0)}, ${engine.time(30)}, ${engine.time(0)} from ${numbers}`);
      }
    });
    const visitors = await introduce(database, size);
    for (const statement of engine.settle) await run(statement);
    return visitors;
  });
}

/** The characters of base64url, in the order of their codes. */
const ALPHABET = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/**
 * An expression for a digest of the row with the number `n`. The digests are as evenly distributed as real ones, but ascend
 * with `n`: inserting random ones into an index at random places takes many times as long.
 */
function digestInOrder({ randomText }: Engine, size: number): string {
  const characters = [1, 2, 3].map((place) => {
    const fraction = `cast(floor(n * ${64 ** place}.0 / ${size + 1}) as integer)`;
    return `substr('${ALPHABET}', 1 + ${fraction} % 64, 1)`;
  });
  return `concat(${characters.join(", ")}, ${randomText})`;
}

async function introduce(database: Database, size: number): Promise<readonly Visitor[]> {
  const visitors: Visitor[] = [];
  await database.transaction(async () => {
    for (let index = 0; index < VISITORS; index++) {
      const id = 1 + Math.floor((index * size) / VISITORS);
      const visitor = {
        email: `user${id}@example.com`,
        loginToken: randomBytes(32).toString("base64url"),
        apiToken: makeToken(id),
      };
      const { kysely } = database;
      await kysely
        .updateTable("users")
        .set({ api_token: sha256(visitor.apiToken) })
        .where("id", "=", id)
        .execute();
      const login = kysely.updateTable("logins").set({ token_hash: sha256(visitor.loginToken) });
      await login.where("user_id", "=", id).where("guard", "=", "web").execute();
      visitors.push(visitor);
    }
  });
  return visitors;
}
