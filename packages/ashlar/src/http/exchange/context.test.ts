import { describe, expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { HttpContext } from "./context.ts";
import { HttpRequest } from "./request.ts";
import { HttpResponse } from "./response.ts";

describe("a context", () => {
  test("has a request from the start, and creates a response on first use", () => {
    const context = makeContext();
    expect(context.request).toBeInstanceOf(HttpRequest);
    expect(context.startedResponse).toBeNull();
    const { response } = context;
    expect(response).toBeInstanceOf(HttpResponse);
    expect([context.response, context.startedResponse]).toEqual([response, response]);
  });

  test("reads nothing from the platform's request when it is created", () => {
    const touched: PropertyKey[] = [];
    const raw = new Proxy(new Request("http://localhost/"), {
      get(target, name) {
        touched.push(name);
        return Reflect.get(target, name, target);
      },
    });
    const { request } = new HttpContext(raw, makeContext().services, null);
    expect(touched).toEqual([]);
    expect(request.getPath()).toBe("/");
  });

  test("S24 shares nothing with another context", () => {
    const [first, second] = [makeContext(), makeContext()];
    first.currentUser = { id: 1 };
    first.response.cookie("a", "1");
    first.request.header("x-a", "1");
    expect([second.currentUser, second.startedResponse, second.request.header("x-a")]).toEqual([null, null, null]);
  });
});
