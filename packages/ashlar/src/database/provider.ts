import { Provider } from "../foundation/index.ts";
import { Database } from "./database.ts";
import { Model } from "./model.ts";

declare module "../foundation/container.ts" {
  interface FrameworkServices {
    /** The application's databases. */
    database: Database;
  }
}

/** Brings in the database: the container's key `database`, and the models' connection to it. */
export class DatabaseProvider extends Provider {
  override register(): void {
    const { container, config, root } = this.application;
    container.singleton("database", () => new Database(config.section("database").DATABASES, root));
  }

  override async boot(): Promise<void> {
    const database = this.application.container.make("database");
    await database.connect();
    Model.useDatabase(database);
  }

  override async shutdown(): Promise<void> {
    const database = this.application.container.make("database");
    Model.leaveDatabase(database);
    await database.close();
  }
}
