import { expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { setPeerAddress } from "../addresses/client-address.ts";
import { HttpContext, pageContext, type Visitor } from "./context.ts";

class OwnContext extends HttpContext {}

function sentForm(address: string | null): HttpContext {
  const raw = new Request("http://localhost/orders?page=2", {
    method: "POST",
    body: '{"article":"a lamp"}',
    headers: {
      accept: "*/*",
      "accept-language": "de",
      cookie: "token=abc",
      "content-type": "application/json",
      "content-length": "20",
      "content-encoding": "identity",
    },
  });
  if (address !== null) setPeerAddress(raw, address);
  return new OwnContext(raw, makeContext().services, null);
}

test("S54 a page rendered in response to a form has the address of the client that submitted the form", () => {
  for (const address of ["203.0.113.7", "2001:db8::1"]) {
    const { request } = pageContext(sentForm(address), null);
    expect([request.remoteAddress, request.clientAddress]).toEqual([address, address]);
  }
  expect(pageContext(sentForm(null), null).request.remoteAddress).toBeNull();
});

test("S54 it has the client's address by the headers that count for the form", () => {
  const form = sentForm("10.0.0.1");
  form.request.useAddressResolver({ trustsProxies: true, resolve: () => "203.0.113.7" });
  expect(pageContext(form, null).request.ip()).toBe("203.0.113.7");
});

test("its URL may be that of another page of the same origin", () => {
  const { request } = pageContext(sentForm(null), null, "/orders/create?draft=1");
  expect([request.url(), request.string("draft", ""), request.input("page")]).toEqual([
    "http://localhost/orders/create",
    "1",
    null,
  ]);
});

test("its request is a GET of the same URL by the same visitor, without a body and the headers that describe one", async () => {
  const form = sentForm(null);
  form.visitor = {} as Visitor;
  const page = pageContext(form, null);
  expect(page).toBeInstanceOf(OwnContext);
  expect(page.visitor).toBe(form.visitor);
  const { raw } = page.request;
  expect([raw.method, raw.url, await raw.text()]).toEqual(["GET", "http://localhost/orders?page=2", ""]);
  expect([...raw.headers]).toEqual([
    ["accept", "*/*"],
    ["accept-language", "de"],
    ["cookie", "token=abc"],
  ]);
  expect([form.request.wantsJson(), page.request.wantsJson()]).toEqual([true, false]);
});
