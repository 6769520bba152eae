import type { CheckContext } from "../boot/index.ts";
import { hasTable, MissingTableError } from "../database/index.ts";
import { reasonOf } from "../support/index.ts";
import { DefaultStore } from "./stores/default-store.ts";
import { MemoryStore } from "./stores/memory-store.ts";
import { RATE_LIMITS_TABLE } from "./stores/rate-limits-table.ts";
import { RedisStore } from "./stores/redis-store.ts";

const FILE = "config/throttle.ts";

/** Checks whether the store of attempts can be reached, and is suitable for production. */
export async function run(context: CheckContext): Promise<void> {
  const { application, database, error, isProduction, migrating, warning } = context;
  const { store } = application().container.make("throttle");
  try {
    await store.check?.();
  } catch (thrown) {
    if (thrown instanceof MissingTableError) return error("limits.store", thrown.asFound(FILE));
    const problem = `The store of the limits can't be reached: ${reasonOf(thrown)}`;
    return error("limits.store", { file: FILE, problem, note: `Start its server, or correct its address in ${FILE}.` });
  }
  if (!isProduction) return;
  if (store instanceof RedisStore) warnOfEviction(context, await store.evictionPolicy());
  if (store instanceof MemoryStore) {
    const problem = "Limits count in the memory of each process: several processes allow several times the attempts.";
    const lines = ['import { databaseStore } from "ashlar/throttle";', "// in THROTTLE:", "store: databaseStore(),"];
    warning("limits.memory", { file: FILE, problem, lines });
  }
  if (!(store instanceof DefaultStore)) return;
  const isShared = await database((opened) => hasTable(opened, RATE_LIMITS_TABLE));
  if (isShared !== false) return;
  const problem = `The database has no table ${RATE_LIMITS_TABLE}, so limits count in the memory of each process.`;
  warning("limits.memory", { problem, run: migrating });
}

function warnOfEviction({ warning }: CheckContext, policy: string | null): void {
  if (policy === null) return;
  const problem = `Redis deletes keys once its memory is full (maxmemory-policy ${policy}), and the limits' attempts with them.`;
  const note =
    "Set maxmemory-policy to noeviction in the server's configuration. If it is a cache as well, use another server.";
  warning("limits.evicted", { file: FILE, problem, note });
}
