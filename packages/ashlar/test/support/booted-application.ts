import { join } from "node:path";
import type { Application } from "../../src/boot/index.ts";
import type { DialectSource } from "../../src/database/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { createTestApplication, type TestApplicationOptions } from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import type { TestEngine } from "./services.ts";

export interface BootOptions extends Omit<TestApplicationOptions, "root" | "kernel" | "database"> {
  /** Its database if it isn't in memory: an engine, or a connection to a server on which a database is created. */
  readonly engine?: TestEngine | DialectSource;
}

/** A generated application, in this process. */
export interface BootedApplication {
  readonly application: Application;
  /** Shuts the application down, and drops its database. Its folder stays. */
  readonly end: () => Promise<void>;
}

/**
 * Boots a generated application for tests.
 *
 * @param root its folder
 */
export async function bootApplication(root: string, options: BootOptions = {}): Promise<BootedApplication> {
  const { engine, ...rest } = options;
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  const server = typeof engine !== "object" || engine.name === "sqlite" ? null : await engine.open();
  const connection = typeof engine === "function" ? engine : server?.configuration;
  const database = connection === undefined ? {} : { database: connection };
  const application = await createTestApplication({ ...rest, ...database, root, kernel: Kernel });
  const end = async (): Promise<void> => {
    await application.shutdown();
    await server?.drop();
  };
  return { application, end };
}

/** The class of a generated application's users, or of a second guard's: `User`, `Admin`. */
export async function userClass(root: string, name = "User"): Promise<typeof FullUser> {
  const module = (await import(join(root, `app/models/${name.toLowerCase()}.ts`))) as Record<string, typeof FullUser>;
  return module[name]!;
}
