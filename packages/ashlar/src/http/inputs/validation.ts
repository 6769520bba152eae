import { dictionary, type Message, type MessageParams, ValidationError } from "../../support/index.ts";
import { message } from "../messages.ts";
import { repeatsInput } from "./repeated-input.ts";
import type { SchemaIssue, SchemaOutput, StandardSchema } from "./standard-schema.ts";

/**
 * Validates a value with a schema of any library that implements Standard Schema (Zod, Valibot, ArkType, …).
 *
 * @returns the schema's output
 * @throws `E_INVALID_INPUT` with all problems at once, by field: `{ "items.0.name": [{ rule: "too_small", params: {
 * minimum: 1 }, message: "…" }] }`. Rules are known for zod and Valibot; other libraries provide only messages. A
 * message that repeats the input, or says what a secret is compared with, is replaced with `input.invalid`
 */
export async function validateInput<S extends StandardSchema>(schema: S, value: unknown): Promise<SchemaOutput<S>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value as SchemaOutput<S>;
  throw new ValidationError(byField(result.issues, value));
}

function byField(issues: readonly SchemaIssue[], input: unknown): Record<string, Message[]> {
  // The keys may come from the input, if a schema allows any.
  const errors = dictionary<Message[]>();
  for (const issue of issues) {
    const field = (issue.path ?? []).map(keyOf).join(".");
    errors[field] ??= [];
    errors[field].push(messageOf(issue, field, input));
  }
  return errors;
}

function messageOf(issue: SchemaIssue, field: string, input: unknown): Message {
  const params = paramsOf(issue);
  if (!repeatsInput(issue, field, params, input)) return { rule: ruleOf(issue), params, message: issue.message };
  return field === "" ? message("input.invalidAsWhole") : message("input.invalid", { name: field });
}

/** Members of the issues of zod and Valibot beyond Standard Schema. */
type DetailedIssue = SchemaIssue & Readonly<Record<"code" | "type", unknown>>;

/** The broken rule, which isn't part of Standard Schema. Zod calls it `code`, Valibot `type`. */
function ruleOf(issue: SchemaIssue): string | null {
  const { code, type } = issue as DetailedIssue;
  return [code, type].find((name) => typeof name === "string") ?? null;
}

/**
 * The names of rules' limits in zod. Zod's `format` is the name of a format, such as `uuid`.
 *
 * Security: nothing else in an issue is used. It may contain the input, such as a password, or the value that the input
 * is compared with, such as a code, even if the author has replaced the message to keep that out.
 */
const LIMITS = ["minimum", "maximum", "divisor"];

/** Valibot's rules whose `requirement` is a limit. For other rules, it is a value, a text or a pattern. */
const LIMITING =
  /^(?:(?:min|max|gt|lt)_[a-z_]+|(?:not_)?(?:bytes|code_points|entries|graphemes|length|size|words)|multiple_of)$/;

function paramsOf(issue: SchemaIssue): MessageParams {
  const details = issue as unknown as Readonly<Record<string, unknown>>;
  const names = LIMITING.test(ruleOf(issue) ?? "") ? [...LIMITS, "requirement"] : LIMITS;
  const found = names.map((name) => [name, details[name]] as const);
  const limits = Object.fromEntries(found.filter((one): one is readonly [string, number | Date] => isLimit(one[1])));
  return typeof details.format === "string" ? { ...limits, format: details.format } : limits;
}

function isLimit(value: unknown): value is number | Date {
  return typeof value === "number" || value instanceof Date;
}

function keyOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === "object" ? segment.key : segment);
}
