import { dictionary, type Message, ValidationError } from "../support/index.ts";
import type { SchemaIssue, SchemaOutput, StandardSchema } from "./standard-schema.ts";

/**
 * Validates a value with a schema of any library that implements Standard Schema (Zod, Valibot, ArkType, …).
 *
 * @returns the schema's output
 * @throws `E_INVALID_INPUT` with all problems at once, by field: `{"items.0.name": ["Required"]}`
 */
export async function validateInput<S extends StandardSchema>(schema: S, value: unknown): Promise<SchemaOutput<S>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value as SchemaOutput<S>;
  throw new ValidationError(byField(result.issues));
}

function byField(issues: readonly SchemaIssue[]): Record<string, Message[]> {
  // Keys come from the input if a schema allows any.
  const errors = dictionary<Message[]>();
  for (const issue of issues) {
    const field = (issue.path ?? []).map(keyOf).join(".");
    errors[field] ??= [];
    errors[field].push({ rule: ruleOf(issue), params: {}, message: issue.message });
  }
  return errors;
}

/** Standard Schema only has messages; zod's issues also have a `code` for the broken rule. */
function ruleOf({ code }: SchemaIssue & { readonly code?: unknown }): string | null {
  return typeof code === "string" ? code : null;
}

function keyOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === "object" ? segment.key : segment);
}
