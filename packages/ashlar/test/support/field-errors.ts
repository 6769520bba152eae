import type { FieldErrors } from "../../src/support/index.ts";

export function plain(errors: Readonly<Record<string, readonly string[]>>): FieldErrors {
  return Object.fromEntries(
    Object.entries(errors).map(([field, list]) => [
      field,
      list.map((message) => ({ rule: null, params: {}, message })),
    ]),
  );
}

/** The sentences by field in a problem document or an error, or `undefined`. */
export function sentencesIn(problem: unknown): Readonly<Record<string, readonly string[]>> | undefined {
  const { errors } = problem as { readonly errors?: FieldErrors };
  if (errors === undefined) return undefined;
  return Object.fromEntries(Object.entries(errors).map(([field, list]) => [field, list.map(({ message }) => message)]));
}
