import type { MaybePromise } from "../../support/index.ts";

/**
 * The part that is used here of a schema from any library that implements Standard Schema 1 (Zod, Valibot, ArkType and
 * others).
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Only for the compiler: the schema's input and output types. */
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined;
    readonly validate: (
      value: unknown,
    ) => MaybePromise<
      { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }
    >;
  };
}

/** A problem that a schema found in a value. */
export interface SchemaIssue {
  readonly message: string;
  /** The keys that lead to the problem, outermost first. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The result of validating a value. */
export type SchemaOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];
