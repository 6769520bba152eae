import type { MaybePromise } from "../../support/index.ts";
import type { Application } from "./application.ts";

/** A check of `ashlar doctor` that a feature adds. Its own module is loaded when the command runs. */
export interface FeatureCheck {
  /** The heading of its findings: `Stock`. */
  readonly name: string;
  /** Its findings, each in a sentence, by id: the feature's name, a dot, a word. */
  readonly findings: Readonly<Record<string, string>>;
  /** How long it may take, in seconds; default: 10. */
  readonly seconds?: number;
  /** Loads the check's code. */
  readonly load: () => Promise<{ run(context: CheckContext): MaybePromise<void> }>;
}

/** The services that folders of the framework provide to checks. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the folders can fill it.
export interface FrameworkCheckContext {}

/**
 * The application that a check of `ashlar doctor` inspects, and the methods to report findings. A check must not change
 * anything, create anything that stays, or send anything, because the application may be in production.
 *
 * ```ts
 * export async function run({ application, error }: CheckContext): Promise<void> {
 *   const { url } = application().settings;
 *   if (url?.endsWith(".example")) {
 *     error("stock.address", { file: ".env", problem: `APP_URL is ${url}.`, lines: ["APP_URL=https://shop.test"] });
 *   }
 * }
 * ```
 */
export interface CheckContext extends FrameworkCheckContext {
  /** The absolute path of the application's folder. */
  readonly root: string;
  /** Whether the application is checked as if it ran in production. */
  readonly isProduction: boolean;
  /** The variables in `.env`, overridden by those of the process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /**
   * The booted application, whose servers and databases are not connected.
   *
   * @throws if it doesn't boot; the report then lists the check as skipped, unless it has found something
   */
  readonly application: () => Application;
  /**
   * An object that a configuration file exports, as the application reads it: `settings("stock", "STOCK")` of
   * `config/stock.ts`. It works for an application that doesn't boot.
   *
   * @returns `null` if it exports no such object
   */
  readonly settings: (section: string, name: string) => Readonly<Record<string, unknown>> | null;
  /** Reports something that has to be fixed: the command exits with 1. */
  readonly error: (id: string, problem: FoundProblem) => void;
  /** Reports something that should be fixed. */
  readonly warning: (id: string, problem: FoundProblem) => void;
  /** @internal The commands that write the migrations that accounts or API tokens lack, and run them. */
  readonly migrating: string;
}

/** A problem, its place, and its fix. It never contains a secret. */
export interface FoundProblem {
  /** The problem, in sentences. */
  readonly problem: string;
  /** Its place, such as a route's `location`: `routes/web.ts:12`. */
  readonly at?: string;
  /** The application's file with the problem, unless {@link at} names it. */
  readonly file?: string | null;
  readonly line?: number | null;
  /** A command that fixes it, to be run in the application's folder, after the lines were added. */
  readonly run?: string;
  /** The file that the lines belong in; default: the file with the problem. */
  readonly in?: string;
  /**
   * Lines to add. In `.env`, `NAME=value` replaces the variable's line. In code, a comment before the lines says where they
   * go, such as `// in PROVIDERS`, and a property replaces the one with its name.
   */
  readonly lines?: readonly string[];
  /** Text to remove from the line that the problem is in. */
  readonly remove?: string;
  /** Additional information, as a sentence. */
  readonly note?: string;
}
