import type { Logger } from "../../kernel/index.ts";
import { AshlarError, type EnvironmentVariables } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { ApplicationOptions } from "./create-application.ts";

/** Options of an inspection. */
export interface InspectionOptions {
  /** Variables that override those of the process and of `.env`. */
  readonly environment?: EnvironmentVariables;
  /** The log to use instead of the application's own. */
  readonly logger?: Logger;
}

let current: Inspection | null = null;

/**
 * Boots an application for a command that only inspects it: the application doesn't connect to a database, create a file or
 * listen. `ashlar doctor` and `ashlar routes` load applications this way.
 */
export class Inspection {
  readonly environment: EnvironmentVariables;
  readonly logger: Logger | null;
  /** The options that `createApplication` was called with; `null` if it wasn't called. */
  applicationOptions: ApplicationOptions | null = null;
  /** The application; `null` until it has booted. */
  application: Application | null = null;

  constructor({ environment = {}, logger }: InspectionOptions = {}) {
    this.environment = environment;
    this.logger = logger ?? null;
  }

  /** Runs a function that loads an application. Other applications must not be created in the meantime. */
  async run<T>(load: () => Promise<T>): Promise<T> {
    // A variable and not an AsyncLocalStorage, because modules that are being loaded don't run in the caller's context.
    if (current !== null) throw new AshlarError("E_COMMAND", "Another application is being inspected in this process.");
    current = this;
    try {
      return await load();
    } finally {
      current = null;
    }
  }
}

/** The active inspection; `null` if applications start normally. */
export function currentInspection(): Inspection | null {
  return current;
}
