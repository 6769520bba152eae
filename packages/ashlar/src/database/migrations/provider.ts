import { join } from "node:path";
import { declareFeature, type Feature, Provider, waitFor } from "../../boot/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { type AshlarError, ConfigurationError } from "../../support/index.ts";
import { Database } from "../connections/database.ts";
import type { ConnectionUsage, ReplicaUsage } from "../dialect/dialect.ts";
import { DATABASE_ERRORS } from "../errors.ts";
import type { ReportLongTransaction } from "../executors/long-transactions.ts";
import { ReadReplicas } from "../executors/read-replicas.ts";
import { DATABASE_MESSAGES } from "../messages.ts";
import { bindApplication, claimedTables } from "../models/model-database.ts";
import { DatabaseCheck } from "./database-check.ts";
import { requireTables } from "./feature-tables.ts";
import { ServerClock } from "./server-clock.ts";
import { DatabaseTaskClaim, TASK_TABLE } from "./task-claim.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** The application's databases. */
    database: Database;
  }
}

declare module "../../boot/application/feature-check.ts" {
  interface FrameworkCheckContext {
    /**
     * Runs a function with the application's database, which the function may only read.
     *
     * @returns what the function returns; `null` if there is no database, it can't be reached, or migrations are
     * pending, all of which are reported already
     */
    readonly database: <T>(work: (database: Database) => Promise<T>) => Promise<T | null>;
  }
}

declare module "../../boot/monitoring/application-stats.ts" {
  interface FrameworkStats {
    /** The use of each connection's pool, by its name in `config/database.ts`. */
    readonly database?: Readonly<Record<string, ConnectionUsage>>;
    /**
     * How many read replicas of each connection are in use, down, or lagging. Connections without replicas are left
     * out.
     */
    readonly replicas?: Readonly<Record<string, ReplicaUsage>>;
  }
}

/** Tables and schemas that the framework's own checks of the database read. */
const OWN_TABLES = ["maintenance", "migrations", "pg_catalog", "information_schema"];

/** Adds the database to the application: the container's key `database`, and the models' connection to it. */
export class DatabaseProvider extends Provider {
  /** `null` until first used. */
  #database: Database | null = null;
  #clock: ServerClock | null = null;
  #check: DatabaseCheck | null = null;

  static override readonly feature: Feature = declareFeature({
    name: "database",
    errors: DATABASE_ERRORS,
    messages: { english: DATABASE_MESSAGES, translations: { de: () => import("../messages.de.ts") } },
    tables: {
      [TASK_TABLE]: { columns: ["task", "due_at"], pruned: null, installedBy: "auth --migrations" },
      migrations: { columns: ["name", "batch"], pruned: null },
    },
    variables: {
      DATABASE_CONNECTION: {},
      DATABASE_PATH: {},
      DATABASE_URL: { isSecret: true },
    },
  });

  override register(): void {
    const { container, config, root, settings } = this.application;
    const { maxQueueMs } = settings.server;
    container.singleton("database", () => {
      const { isInspected } = this.application;
      this.#database = new Database(config.section("database", ["DATABASES"]).DATABASES, root, {
        isInspected,
        maxQueueMs,
      });
      return this.#database;
    });
  }

  override async boot(): Promise<void> {
    const { container, environment, features, isInspected, logger } = this.application;
    requireTables(features);
    const database = container.make("database");
    database.onFailedWork((error) => logger.error({ err: error }, "Work after a transaction's commit failed."));
    if (environment === "development") {
      database.onLongTransaction(warner(logger));
      database.onCaughtFailure((error) => {
        const problem = "A transaction continues after a statement in it failed. PostgreSQL would refuse that.";
        const remedy = "Put the statement into a nested transaction, and catch the error around that.";
        logger.warn({ err: error }, `${problem} ${remedy}`);
      });
      database.onIgnoredAttributes((sentence) => logger.warn(sentence));
    }
    if (environment === "production") {
      database.onCreated((path, connection) => {
        const remedy = `If there should be data in it, correct the path of DATABASES.${connection} in config/database.ts.`;
        logger.warn({ path }, `The SQLite file ${path} did not exist. An empty one was created. ${remedy}`);
      });
    }
    database.onReplica((sentence, error, connection) => {
      logger.warn({ connection, ...(error !== null && { err: error }) }, sentence);
    });
    this.application.addStats("database", () => database.usage());
    this.application.addStats("replicas", () => database.replicaUsage());
    if (!isInspected) {
      const { waitSeconds: seconds } = this.application.settings.server;
      const isFinal = ({ code }: AshlarError) => code === "E_DATABASE_DAMAGED";
      await waitFor(() => database.connect(), { what: "The database", seconds, logger, isFinal });
      this.#clock = new ServerClock(database.connection(), logger);
      await this.#clock.start();
    }
    bindApplication(this.application, database);
    this.application.dailyPrune.claim = new DatabaseTaskClaim(database, "prune");
  }

  /**
   * Runs once all features have named the models that they use.
   *
   * @throws `E_INVALID_CONFIGURATION` if there are read replicas, and users may be read from tables that nothing names
   */
  override ready(): void {
    const { tables, unknown } = claimedTables(this.application);
    this.#database?.keepOnPrimary([...OWN_TABLES, ...tables]);
    this.#requireNamed(unknown);
    this.#warnOfUnread();
  }

  /** Security: an outdated row would let in a deleted user, or someone with the old password. */
  #requireNamed(unknown: readonly string[]): void {
    if (unknown.length === 0 || this.#database?.hasReplicas !== true) return;
    const problem = `there are read replicas, and ${unknown.join(", ")} may read users from them, who may have changed since.`;
    const remedy = 'Name the tables in it: readonly tables = ["members"]; or [] if it reads them elsewhere.';
    throw new ConfigurationError("config/database.ts: DATABASES", problem, remedy);
  }

  #warnOfUnread(): void {
    const unread = this.application.usesMiddleware(ReadReplicas) ? [] : (this.#database?.replicated() ?? []);
    for (const name of unread) {
      const problem = `DATABASES.${name} in config/database.ts has read replicas, which no request reads from.`;
      this.application.logger.warn(`${problem} Add ReadReplicas to httpMiddleware in app/kernel.ts.`);
    }
  }

  override listening(): void {
    this.#check = this.#createCheck();
  }

  override async check(): Promise<void> {
    this.#check ??= this.#createCheck();
    await this.#check.run();
  }

  #createCheck(): DatabaseCheck {
    const { container, root } = this.application;
    return new DatabaseCheck(container.make("database"), join(root, "database", "migrations"));
  }

  override async shutdown(): Promise<void> {
    this.#clock?.stop();
    bindApplication(this.application, null);
    await this.#database?.close();
  }
}

function warner(logger: Logger): ReportLongTransaction {
  return (place, limitMs) => {
    const remedy = "Do slow work (requests, mails, hashing) before or after the transaction.";
    logger.warn({ place }, `A transaction has been open for more than ${limitMs} ms, and makes others wait. ${remedy}`);
  };
}
