import { describe, expect, test } from "vitest";
import type { Message } from "../../support/index.ts";
import { readStoredErrors, toStoredErrors } from "./session-errors.ts";

/** The errors as a page would show them, after being stored as JSON. */
function read(errors: Parameters<typeof toStoredErrors>[0], t: (message: Message) => string) {
  return readStoredErrors(JSON.parse(JSON.stringify(toStoredErrors(errors))), t);
}

describe("the errors of a form, stored for its next page", () => {
  test("a message without a rule is stored as its text", () => {
    const stored = toStoredErrors({ name: [{ rule: null, params: {}, message: "It is taken." }, "It is odd."] });
    expect(stored).toEqual({ name: ["It is taken.", "It is odd."] });
  });

  test("a message with a rule can be translated later, and so can the messages in its parameters", () => {
    const due: Message = { rule: "shop.due", params: { day: new Date(0) }, message: "due on 1 January" };
    const late: Message = { rule: "shop.late", params: { due, days: 3 }, message: "It is late: due on 1 January." };
    const day = { date: "1970-01-01T00:00:00.000Z" };
    expect(toStoredErrors({ book: [late] })).toEqual({
      book: [{ ...late, params: { due: { ...due, params: { day } }, days: 3 } }],
    });
    const asked: Message[] = [];
    const errors = read({ book: [late] }, (message) => {
      asked.push(message);
      return "Es ist verspätet.";
    });
    expect(errors.book?.map(({ message }) => message)).toEqual(["Es ist verspätet."]);
    expect(asked).toEqual([due, late]);
  });
});
