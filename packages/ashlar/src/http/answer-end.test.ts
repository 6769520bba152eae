import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { closeWithAnswer } from "./answer-end.ts";

function requestWith(state: object): { readonly raw: Request; readonly res: EventEmitter } {
  const res = Object.assign(new EventEmitter(), state);
  return { raw: { runtime: { node: { res } } } as unknown as Request, res };
}

test.each([{ destroyed: true }, { writableFinished: true }])(
  "S62 what is opened for a request whose answer is over (%o) is closed at once",
  (state) => {
    let closed = 0;
    closeWithAnswer(requestWith(state).raw, () => closed++);
    expect(closed).toBe(1);
  },
);

test("S62 what is opened for a request is closed when its answer is out, and not before", () => {
  const { raw, res } = requestWith({});
  let closed = 0;
  closeWithAnswer(raw, () => closed++);
  expect(closed).toBe(0);
  res.emit("close");
  expect(closed).toBe(1);
});
