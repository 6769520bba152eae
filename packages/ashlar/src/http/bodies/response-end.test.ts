import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { closeBodyWithResponse, closeWithResponse, endWithResponse } from "./response-end.ts";

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

/** The body of a response, and whether it was canceled. */
function recordedBody(text = "body", failure: Error | null = null) {
  let [isSent, canceled] = [false, 0];
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (isSent) return controller.close();
        isSent = true;
        controller.enqueue(Buffer.from(text));
      },
      cancel() {
        canceled++;
        if (failure !== null) throw failure;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, canceled: () => canceled };
}

function counted() {
  let ended = 0;
  const end = async () => {
    ended++;
  };
  return { end, ended: () => ended };
}

const FETCHED = new Request("http://localhost/");

test("S197 a request's reservation ends with the connection's response, which is unchanged", async () => {
  const { raw, res } = requestWith({});
  const [{ end, ended }, response] = [counted(), new Response("body")];
  expect(endWithResponse(raw, response, true, end)).toBe(response);
  expect(ended()).toBe(0);
  res.emit("close");
  expect([ended(), await response.text()]).toEqual([1, "body"]);
});

test.each([
  ["has no body", new Response(null, { status: 204 }), true],
  ["reads nothing of it", new Response("body"), false],
])("S197 through fetch, it ends at once if the response %s", (_, response, isNeeded) => {
  const { end, ended } = counted();
  expect(endWithResponse(FETCHED, response, isNeeded, end)).toBe(response);
  expect(ended()).toBe(1);
});

test("S197 through fetch, it ends once the response has been read, whose status and fields stay", async () => {
  const { end, ended } = counted();
  const options = { status: 206, statusText: "Some", headers: { "x-own": "1" } };
  const response = endWithResponse(FETCHED, new Response(recordedBody("some").stream, options), true, end);
  expect([response.status, response.statusText, response.headers.get("x-own"), ended()]).toEqual([206, "Some", "1", 0]);
  expect([await response.text(), ended()]).toEqual(["some", 1]);
});

test.each([null, new Error("It fails.")])(
  "S197 through fetch, a response that is not read is canceled: %s",
  async (failure) => {
    const [{ end, ended }, body] = [counted(), recordedBody("some", failure)];
    const response = endWithResponse(FETCHED, new Response(body.stream), true, end);
    await response.body!.cancel();
    expect([ended(), body.canceled()]).toEqual([1, 1]);
  },
);

test("S62 the body of an application's own response is canceled once its client is gone", async () => {
  const { raw, res } = requestWith({});
  const body = recordedBody();
  closeBodyWithResponse(raw, new Response(body.stream));
  expect(body.canceled()).toBe(0);
  res.emit("close");
  expect(body.canceled()).toBe(1);
});

test("S62 nothing is closed for a request whose connection is not known, nor of a response without a body", async () => {
  const { raw, res } = requestWith({});
  const [{ end, ended }, body] = [counted(), recordedBody()];
  closeWithResponse(FETCHED, end);
  closeBodyWithResponse(FETCHED, new Response(body.stream));
  closeBodyWithResponse(raw, new Response(null));
  res.emit("close");
  expect([ended(), body.canceled()]).toEqual([0, 0]);
});

test("S62 a body that is being read, or was cloned, is left to its reader", async () => {
  const [read, cloned] = [recordedBody("read"), recordedBody("cloned")];
  const { raw, res } = requestWith({});
  const responses = [read, cloned].map(({ stream }) => new Response(stream));
  for (const response of responses) closeBodyWithResponse(raw, response);
  const reader = responses[0]!.body!.getReader();
  const clone = responses[1]!.clone();
  res.emit("close");
  expect([read.canceled(), cloned.canceled()]).toEqual([0, 0]);
  expect([Buffer.from((await reader.read()).value!).toString(), await clone.text()]).toEqual(["read", "cloned"]);
});
