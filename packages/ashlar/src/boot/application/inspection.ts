import type { Logger } from "../../kernel/index.ts";
import { AshlarError, type EnvironmentVariables } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { ApplicationOptions } from "./create-application.ts";

/** What differs from a normal start while an application is inspected. */
export interface InspectionOptions {
  /** Variables that replace those of the process and of `.env`. */
  readonly environment?: EnvironmentVariables;
  /** Gets the lines of the application's log, instead of its own log. */
  readonly logger?: Logger;
}

let current: Inspection | null = null;

/**
 * A look at an application by a command: it boots, but it connects to no database, creates no file and doesn't listen.
 * `ashlar doctor` and `ashlar routes` load applications this way.
 */
export class Inspection {
  readonly environment: EnvironmentVariables;
  readonly logger: Logger | null;
  /** What `createApplication` was called with; `null` if it wasn't. */
  applicationOptions: ApplicationOptions | null = null;
  /** The application, as soon as it has booted; `null` if it hasn't. */
  application: Application | null = null;

  constructor({ environment = {}, logger }: InspectionOptions = {}) {
    this.environment = environment;
    this.logger = logger ?? null;
  }

  /** Runs a function that loads an application. Other applications must not be created in the meantime. */
  async run<T>(load: () => Promise<T>): Promise<T> {
    // A variable, because an application is created while its modules are loaded, and modules load in no one's context.
    if (current !== null) throw new AshlarError("E_COMMAND", "Another application is being inspected in this process.");
    current = this;
    try {
      return await load();
    } finally {
      current = null;
    }
  }
}

/** The inspection that is under way; `null` if applications start normally. */
export function currentInspection(): Inspection | null {
  return current;
}
