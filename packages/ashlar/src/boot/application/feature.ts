import type { HttpContext } from "../../http/index.ts";
import type { ServiceKey, Services } from "../../kernel/index.ts";
import type { Sentences, Translations } from "../../messages/index.ts";
import type { KeyPurpose } from "../../security/index.ts";
import type { ErrorDefinition } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { FeatureCheck } from "./feature-check.ts";
import type { FeatureCommand } from "./feature-command.ts";

/** The sentences of a feature. */
export interface FeatureMessages {
  /** The English sentences by key, such as `database.unique`. Begin each key with the feature's name. */
  readonly english: Sentences;
  /** Functions that load other languages' sentences, by language tag. Only languages that the application offers are loaded. */
  readonly translations?: Translations;
}

/** Creates a property of the context: once for each request, on first access. */
export type MakeContextProperty<Value> = (context: HttpContext, application: Application) => Value;

/** A property of the context whose value can change during a request, so each access asks for it. */
export interface ChangingContextProperty<Value> {
  readonly make: MakeContextProperty<Value>;
  readonly isKept: false;
}

/** An environment variable that the feature's configuration reads. */
export interface FeatureVariable {
  /** Its purpose, in sentences that `ashlar features` shows. */
  readonly about?: readonly string[];
  /** Its usual value, which `ashlar features` shows. */
  readonly value?: string;
  /**
   * Whether its value is a secret: the log and error pages hide values with its name, and `ashlar doctor` looks for its value in
   * the repository and in `public/`. Default: `false`.
   */
  readonly isSecret?: boolean;
}

/** A table that the feature has. */
export interface FeatureTable {
  /** The names of its columns that the feature reads or writes. */
  readonly columns: readonly string[];
  /** Which rows the provider's `prune()` deletes, in a few words; `null` if none. */
  readonly pruned: string | null;
  /** The command of `ashlar` that writes its migration; default: authors write it. */
  readonly installedBy?: string;
}

/** The declarations that other folders of the framework add to those that startup itself processes. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the folders can fill it.
export interface FrameworkFeatureParts {}

/**
 * Everything that a feature adds to an application: the static property `feature` of its provider. The framework and
 * `ashlar features` read the same value, the latter without booting the application, so it should contain only things
 * that are cheap to create. Commands and languages are loaded when they are needed.
 *
 * ```ts
 * export class StockProvider extends Provider {
 *   static override readonly feature: Feature = declareFeature({
 *     name: "stock",
 *     messages: { english: { "stock.left": "{count} left" } },
 *     tables: { stock: { columns: ["sku", "count"], pruned: null } },
 *     variables: { STOCK_TOKEN: { isSecret: true } },
 *   });
 * }
 * ```
 *
 * If two features declare the same thing, startup fails and names both providers.
 */
export interface Feature extends FrameworkFeatureParts {
  /** Lower-case words with hyphens. The names of its additions begin with it, as far as possible. */
  readonly name: string;
  /** Features that it is built on. Each is installed once, whichever providers include it. */
  readonly includes?: readonly Feature[];
  readonly messages?: FeatureMessages | readonly FeatureMessages[];
  /** Services by their key of the container, each created on first use. */
  readonly services?: { readonly [Key in ServiceKey]?: (application: Application) => Services[Key] };
  /** Properties of the context. */
  readonly context?: {
    readonly [Name in keyof HttpContext]?:
      | MakeContextProperty<HttpContext[Name]>
      | ChangingContextProperty<HttpContext[Name]>;
  };
  /** Error codes, each with its HTTP status and a sentence. */
  readonly errors?: Readonly<Record<string, ErrorDefinition>>;
  /** The environment variables that its configuration reads. Features may share them. */
  readonly variables?: Readonly<Record<string, FeatureVariable>>;
  /** The purposes that it derives keys for. */
  readonly keyPurposes?: readonly KeyPurpose[];
  readonly tables?: Readonly<Record<string, FeatureTable>>;
  /** The functions that make its routes, as applications call them: `Auth.routes`. */
  readonly routes?: readonly string[];
  /** The commands that it adds to `ashlar`. */
  readonly commands?: readonly FeatureCommand[];
  /** Its checks in `ashlar doctor`. */
  readonly checks?: readonly FeatureCheck[];
}

/**
 * Declares a feature; see {@link Feature}.
 *
 * @returns the same object, frozen
 */
export function declareFeature(feature: Feature): Feature {
  return Object.freeze(feature);
}
