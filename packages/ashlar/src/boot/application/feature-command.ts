import type { MaybePromise } from "../../support/index.ts";
import type { Application } from "./application.ts";

/**
 * A command that a feature adds to `ashlar`. `ashlar --help` lists the commands of all
 * providers in `config/providers.ts`; a command's own module is loaded when it is run.
 *
 * ```ts
 * export class StockProvider extends Provider {
 *   static override readonly feature: Feature = declareFeature({
 *     name: "stock",
 *     commands: [
 *       {
 *         name: "stock:install",
 *         description: "Adds the configuration of the stock.",
 *         load: async () => ({ run: ({ publish }) => publish({ files: { "config/stock.ts": "export const STOCK = {};\n" } }) }),
 *       },
 *     ],
 *   });
 * }
 * ```
 *
 * A package writes `load: () => import("./stock-install.ts")`, for a module that exports `run`.
 */
export interface FeatureCommand {
  /** Lower-case words, with the feature's name before a colon: `stock:install`. */
  readonly name: string;
  /** One sentence, for `ashlar --help`. */
  readonly description: string;
  /**
   * Its arguments and options, one per line, for its own `--help`, as in ` <id> the item's id` and ` --all counts all`;
   * default: none. Other lines are shown below them.
   */
  readonly help?: string;
  /** Loads the command's code. */
  readonly load: () => Promise<{ run(context: CommandContext): MaybePromise<void> }>;
}

/** The context of a command. If `run` throws an `AshlarError`, its message is printed, and the exit code is 1. */
export interface CommandContext {
  /** The absolute path of the application's folder. */
  readonly root: string;
  /** The arguments after the command's name. Parse them with `parseArgs` from `node:util`. */
  readonly args: readonly string[];
  /** Prints one line; default: an empty one. */
  readonly print: (line?: string) => void;
  /**
   * Boots the application, once. It is shut down after the command.
   *
   * @throws `E_COMMAND` if the folder has no `app.ts`, and errors of the startup
   */
  readonly application: () => Promise<Application>;
  /**
   * Adds files to the application and prints the changes, and the remaining manual steps. Existing files stay as they
   * are, so that the command can be run again. With `--dry-run` among the arguments it only prints the changes.
   *
   * @throws `E_COMMAND` if a path leads out of the application or into `.git` or `node_modules`, or if the name of a
   *   migration is malformed
   */
  readonly publish: (files: PublishedFiles) => Promise<void>;
}

/** Files that a feature adds to an application. */
export interface PublishedFiles {
  /** Texts by path in the application: `{ "config/stock.ts": "export const STOCK = …" }`. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * Migrations by name, in the order that they run. They are dated after the existing ones; one whose name the application
   * already has is left out.
   */
  readonly migrations?: Readonly<Record<string, string>>;
  /** Additions to the author's own files. */
  readonly steps?: readonly ManualStep[];
}

/** Lines to add by hand, unless the file's code already matches, or the command can add them. */
export interface ManualStep {
  /** The path in the application, such as `app/kernel.ts`. */
  readonly file: string;
  /** Matches the file's code, without its comments, once the step is done. */
  readonly done: RegExp;
  readonly lines: readonly string[];
  /** The addition as a value that the command can insert into the file's syntax tree; default: the author adds the lines. */
  readonly adds?: StepAddition;
}

/** An addition to a list, an object or a model in a file. */
export interface StepAddition {
  /** The values that it uses: the name, and the module that the file imports it from. */
  readonly imports: readonly { readonly name: string; readonly from: string }[];
  /**
   * The variable with the list or the object; for an object in an object, also the keys that lead there: `["DRIVERS", "jwt"]`. A
   * property of a class follows the name of the class: `["Kernel", "routeMiddleware"]`. The name of a model alone adds a mixin to
   * it, which is the text: `["User"]`.
   */
  readonly to: readonly [variable: string, ...keys: string[]];
  /** An element, such as `...Stock.routes()`, or a property, such as `stock: stock()`, with double quotes around its texts. */
  readonly text: string;
}
