import { dictionary, type Message, type MessageParams, type MessageValue, ValidationError } from "../support/index.ts";
import type { SchemaIssue, SchemaOutput, StandardSchema } from "./standard-schema.ts";

/**
 * Validates a value with a schema of any library that implements Standard Schema (Zod, Valibot, ArkType, …).
 *
 * @returns the schema's output
 * @throws `E_INVALID_INPUT` with all problems at once, by field: `{ "items.0.name": [{ rule: "too_small", params: { minimum: 1 },
 *   message: "…" }] }`. The rules are those of zod and Valibot; of other libraries only the sentences are known
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
    errors[field].push({ rule: ruleOf(issue), params: paramsOf(issue), message: issue.message });
  }
  return errors;
}

/** What the issues of zod and Valibot have in addition to what Standard Schema knows. */
type DetailedIssue = SchemaIssue & Readonly<Record<"code" | "type", unknown>>;

/** Standard Schema only knows messages. Zod names the rule that was broken `code`, Valibot `type`. */
function ruleOf(issue: SchemaIssue): string | null {
  const { code, type } = issue as DetailedIssue;
  return [code, type].find((name) => typeof name === "string") ?? null;
}

/**
 * What a rule asks for, by the names that zod and Valibot give it.
 *
 * Security: nothing else of an issue. It may contain the input, such as a password.
 */
const REQUIREMENTS = ["minimum", "maximum", "divisor", "expected", "format", "requirement"];

function paramsOf(issue: SchemaIssue): MessageParams {
  const details = issue as unknown as Readonly<Record<string, unknown>>;
  const found = REQUIREMENTS.map((name) => [name, details[name]] as const);
  return Object.fromEntries(found.filter((one): one is readonly [string, MessageValue] => isRequirement(one[1])));
}

function isRequirement(value: unknown): value is MessageValue {
  return typeof value === "string" || typeof value === "number" || value instanceof Date;
}

function keyOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === "object" ? segment.key : segment);
}
