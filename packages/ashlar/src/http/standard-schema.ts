import type { MaybePromise } from "../support/index.ts";

/**
 * A schema of any library that keeps to Standard Schema 1 (Zod, Valibot, ArkType and others), as far as it is asked here.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Only for the compiler: what the schema takes, and what it makes of that. */
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined;
    readonly validate: (
      value: unknown,
    ) => MaybePromise<
      { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }
    >;
  };
}

/** Something about a value that a schema does not take. */
export interface SchemaIssue {
  readonly message: string;
  /** The keys that lead to it, from the outermost on. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema makes of a value. */
export type SchemaOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];
