import { CompiledQuery, type QueryResult } from "kysely";
import { AshlarError, counted, type MaybePromise } from "../../support/index.ts";
import { BoundedCache } from "../bounded-cache.ts";
import type { Replicas, ReplicaUsage } from "../dialect/dialect.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";
import { mentionOf, ownName } from "../table-names.ts";
import { currentReads } from "./read-replicas.ts";
import { ReplicaLag } from "./replica-lag.ts";

/** How long no request is sent to a replica that is down, in milliseconds. */
const RETRY_MS = 10_000;
const TEXTS_KEPT = 1000;
/** The codes for a statement that took too long, on PostgreSQL, MariaDB and MySQL; it would take as long elsewhere. */
const CANCELED: ReadonlySet<unknown> = new Set(["57014", "1969", "3024"]);

/**
 * A SELECT of rows that locks none. A SELECT after a handwritten `with` might write; one without `from` asks for the
 * clock.
 */
const READ =
  /^\s*select\b(?=.*\bfrom\b)(?!.*\b(?:for\s+(?:no\s+key\s+)?(?:update|share|key\s+share)|lock\s+in\s+share\s+mode)\b)/is;
const NAME = '(?:"[^"]*"|`[^`]*`|[\\p{L}\\p{N}_$]+)';
const WRITTEN_TABLE = new RegExp(
  `^\\s*(?:insert\\s+into|update(?:\\s+only)?|delete\\s+from(?:\\s+only)?)\\s+(${NAME}(?:\\.${NAME})*)`,
  "iu",
);
const NEITHER = /^\s*(?:select|begin|start|commit|rollback|savepoint|release|set|show|explain)\b/i;

/** A read that a replica may answer, a write after which it may not, or anything else. */
type Kind = "replica" | "write" | "primary";

/** Receives a sentence about a replica that is down, late, or back. */
export type ReportReplica = (sentence: string, error: unknown) => void;

interface ReplicaState {
  readonly executor: Executor;
  /** When to try it again, in milliseconds of `performance.now()`; `null` while it works. */
  retryAt: number | null;
  /** Whether it lacks data that was committed `ownWritesSeconds` ago. */
  isBehind: boolean;
}

/**
 * Runs statements outside of transactions: the reads of a request on a replica, in turn, and everything else on the
 * primary. Tables that decide about security are always read from the primary.
 */
export class ReplicaReads implements Executor {
  /** Receives a sentence when a replica goes down or comes back; `null` for no reports. */
  report: ReportReplica | null = null;
  readonly #primary: Executor;
  readonly #replicas: readonly ReplicaState[];
  readonly #ownWritesSeconds: number;
  /** `null` if the dialect doesn't know how late a replica is. */
  readonly #lag: ReplicaLag | null;
  #texts = new BoundedCache<Kind>(TEXTS_KEPT);
  #onPrimary: ReadonlySet<string> = new Set();
  #mention: RegExp | null = null;
  #next = 0;

  constructor(primary: Executor, { executors, ownWritesSeconds, following }: Replicas) {
    this.#primary = primary;
    this.#replicas = executors.map((executor) => ({ executor, retryAt: null, isBehind: false }));
    this.#ownWritesSeconds = ownWritesSeconds;
    this.#lag = following === undefined ? null : new ReplicaLag(following, ownWritesSeconds);
  }

  usage(): ReplicaUsage {
    const away = this.#replicas.filter(({ retryAt }) => retryAt !== null).length;
    const behind = this.#replicas.filter(({ retryAt, isBehind }) => retryAt === null && isBehind).length;
    return { used: this.#replicas.length - away - behind, away, behind };
  }

  /** Keeps tables on the primary: they are read there, and writing to them has no effect on reads of other tables. */
  keepOnPrimary(tables: readonly string[]): void {
    this.#onPrimary = new Set([...this.#onPrimary, ...tables.map(ownName)]);
    this.#mention = mentionOf(this.#onPrimary);
    this.#texts = new BoundedCache(TEXTS_KEPT);
  }

  /** Called with each statement on the primary. */
  noticed(sql: string): void {
    const reads = currentReads();
    if (reads !== undefined && this.#kindOf(sql) === "write") reads.pin(this.#ownWritesSeconds);
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    return this.#run(query.sql, (executor) => executor.execute(query));
  }

  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    return this.#run(sql, (executor) => executor.first(sql, value));
  }

  #run<T>(sql: string, use: (executor: Executor) => MaybePromise<T>): MaybePromise<T> {
    const reads = currentReads();
    if (reads === undefined || reads.isPinned || this.#kindOf(sql) !== "replica") return use(this.#primary);
    const replica = this.#pick();
    return replica === null ? use(this.#primary) : this.#runOn(replica, use);
  }

  async #runOn<T>(replica: ReplicaState, use: (executor: Executor) => MaybePromise<T>): Promise<T> {
    try {
      return await use(replica.executor);
    } catch (error) {
      if (!(error instanceof AshlarError) || (error instanceof DatabaseError && CANCELED.has(error.databaseCode)))
        throw error;
      if (error.code === "E_DATABASE_UNAVAILABLE" || error.code === "E_OVERLOADED") this.#setAway(replica, error);
      // A replica may lack a new table, or cancel a read that blocks its replication. If the statement
      // is wrong, the primary says so.
      return await use(this.#primary);
    }
  }

  #kindOf(sql: string): Kind {
    return this.#texts.get(sql, () => {
      if (READ.test(sql)) return this.#mention?.test(sql) === true ? "primary" : "replica";
      const [, table] = WRITTEN_TABLE.exec(sql) ?? [];
      return NEITHER.test(sql) || (table !== undefined && this.#onPrimary.has(ownName(table))) ? "primary" : "write";
    });
  }

  /** The next replica that works; `null` if none does. */
  #pick(): ReplicaState | null {
    if (this.#lag?.isDue === true) void this.#findLate(this.#lag);
    for (let n = 0; n < this.#replicas.length; n++) {
      this.#next = (this.#next + 1) % this.#replicas.length;
      const replica = this.#replicas[this.#next]!;
      if (replica.retryAt === null && !replica.isBehind) return replica;
      if (replica.retryAt !== null && performance.now() >= replica.retryAt) void this.#tryAgain(replica);
    }
    return null;
  }

  #setAway(replica: ReplicaState, error: unknown): void {
    const wasThere = replica.retryAt === null;
    replica.retryAt = performance.now() + RETRY_MS;
    if (!wasThere) return;
    const number = this.#replicas.indexOf(replica);
    this.report?.(`The read replica ${number} is down. Its reads go elsewhere until it is back.`, error);
  }

  /** No visitor waits for this. */
  async #findLate(lag: ReplicaLag): Promise<void> {
    const there = this.#replicas.filter(({ retryAt }) => retryAt === null).map(({ executor }) => executor);
    await lag.check(there, (executor, isBehind) => {
      const number = this.#replicas.findIndex((one) => one.executor === executor);
      const replica = this.#replicas[number]!;
      if (replica.isBehind === isBehind) return;
      replica.isBehind = isBehind;
      const late = `is more than ${counted(this.#ownWritesSeconds, "second")} behind. Its reads go elsewhere until it has caught up.`;
      this.report?.(`The read replica ${number} ${isBehind ? late : "has caught up."}`, null);
    });
  }

  /** Visitors' reads aren't tried on it. */
  async #tryAgain(replica: ReplicaState): Promise<void> {
    replica.retryAt = performance.now() + RETRY_MS;
    try {
      await replica.executor.execute(CompiledQuery.raw("select 1"));
    } catch {
      return;
    }
    replica.retryAt = null;
    this.report?.(`The read replica ${this.#replicas.indexOf(replica)} is back.`, null);
  }
}
