import { expect, onTestFinished, test } from "vitest";
import { createTestClient, travel, travelBack } from "../../../src/testing/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

const PASSWORD = "a password of hers";

test("the routes on the page about authentication let through only the users it names", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/authentication.md");
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  onTestFinished(end);
  onTestFinished(travelBack);
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  await user.setPassword(PASSWORD);
  await user.save();

  const guest = createTestClient(application);
  (await guest.get("/shop")).assertSee("Welcome, stranger");
  for (const path of ["/orders", "/reviews/new", "/payment"]) (await guest.get(path)).assertRedirect("/login");
  const codes: unknown[] = [];
  for (const path of ["/orders", "/reviews/new", "/payment", "/export"]) {
    const { status, json } = await guest.getJson(path);
    codes.push([status, (json as { code: string }).code]);
  }
  expect(codes).toEqual(Array(4).fill([401, "E_UNAUTHENTICATED"]));

  const client = createTestClient(application);
  const page = await client.follow(await client.get("/orders"));
  (await client.submit(page, { email: "ada@example.com", password: PASSWORD })).assertRedirect("/orders");
  (await client.get("/orders")).assertSee("Orders of Ada");
  (await client.get("/shop")).assertSee("Welcome, Ada");
  (await client.get("/reviews/new")).assertRedirect("/email/verify/notice");
  expect((await client.getJson("/reviews/new")).json).toMatchObject({ status: 403, code: "E_FORBIDDEN" });
  await user.markEmailAsVerified();
  (await client.get("/reviews/new")).assertSee("Write a review");
  // The login by password counts for ten minutes.
  (await client.get("/payment")).assertSee("Payment");
  travel(11);
  (await client.get("/payment")).assertRedirect("/confirm_password");
  expect((await client.getJson("/payment")).json).toMatchObject({ status: 403, code: "E_PASSWORD_NOT_CONFIRMED" });
  // A cookie is not a token.
  (await client.getJson("/export")).assertStatus(401);
  const { data } = (await guest.postJson("/api/auth", { username: "ada@example.com", password: PASSWORD })).json as {
    data: string;
  };
  (await createTestClient(application).withToken(data).getJson("/export")).assertJson({ guard: "jwt", id: 1 });
  (await client.get("/logout")).assertStatus(405);
});
