import { Provider } from "../boot/index.ts";
import type { Logger } from "../kernel/index.ts";
import { Database } from "./database.ts";
import type { ReportLongTransaction } from "./long-transactions.ts";
import { DATABASE_MESSAGES } from "./messages.ts";
import { bindApplication } from "./model-database.ts";
import { DatabaseTaskClaim } from "./task-claim.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The application's databases. */
    database: Database;
  }
}

/** Adds the database to the application: the container's key `database`, and the models' connection to it. */
export class DatabaseProvider extends Provider {
  /** `null` until first used. */
  #database: Database | null = null;

  override register(): void {
    this.application.messages.declare(DATABASE_MESSAGES, { de: () => import("./messages.de.ts") });
    const { container, config, root, isInspected } = this.application;
    container.singleton("database", () => {
      this.#database = new Database(config.section("database", ["DATABASES"]).DATABASES, root, { isInspected });
      return this.#database;
    });
  }

  override async boot(): Promise<void> {
    const { container, environment, isInspected, logger } = this.application;
    const database = container.make("database");
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
    if (!isInspected) await database.connect();
    bindApplication(this.application, database);
    this.application.dailyPrune.claim = new DatabaseTaskClaim(database, "prune");
  }

  override async shutdown(): Promise<void> {
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
