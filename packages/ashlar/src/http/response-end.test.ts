import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { closeWithResponse } from "./response-end.ts";

function requestWith(state: object): { readonly raw: Request; readonly res: EventEmitter } {
  const res = Object.assign(new EventEmitter(), state);
  return { raw: { runtime: { node: { res } } } as unknown as Request, res };
}

test.each([{ destroyed: true }, { writableFinished: true }])(
  "S62 a resource opened after the response has ended (%o) is closed immediately",
  (state) => {
    let closed = 0;
    closeWithResponse(requestWith(state).raw, () => closed++);
    expect(closed).toBe(1);
  },
);

test("S62 a resource opened for a request is closed once its response has been sent, and not before", () => {
  const { raw, res } = requestWith({});
  let closed = 0;
  closeWithResponse(raw, () => closed++);
  expect(closed).toBe(0);
  res.emit("close");
  expect(closed).toBe(1);
});
