import { dictionary, type FieldErrors, ValidationError } from "../support/index.ts";
import type { SchemaIssue, SchemaOutput, StandardSchema } from "./standard-schema.ts";

/**
 * Checks a value against a schema of any library that keeps to Standard Schema (zod, valibot, arktype, …).
 *
 * @returns what the schema makes of the value
 * @throws `E_INVALID_INPUT` with all problems at once, by field: `{"items.0.name": ["Required"]}`
 */
export async function validateInput<S extends StandardSchema>(schema: S, value: unknown): Promise<SchemaOutput<S>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value as SchemaOutput<S>;
  throw new ValidationError(byField(result.issues));
}

function byField(issues: readonly SchemaIssue[]): FieldErrors {
  // Keys come from the input, where a schema allows any.
  const errors: FieldErrors = dictionary<string[]>();
  for (const issue of issues) {
    const field = (issue.path ?? []).map(keyOf).join(".");
    errors[field] ??= [];
    errors[field].push(issue.message);
  }
  return errors;
}

function keyOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === "object" ? segment.key : segment);
}
