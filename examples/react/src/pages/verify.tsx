import type { PageProps } from "../app.tsx";
import { client } from "../client.ts";
import { Form } from "../form.tsx";

/** Where the link in the mail leads. It waits for a click: some mail programs open every link. */
export function VerifyPage({ token, go }: PageProps & { readonly token: string }) {
  async function send(): Promise<undefined> {
    await client.verifyEmail(token);
    await go("/");
  }

  return (
    <section>
      <h1>Verify your email address</h1>
      <p>Press the button to confirm that this address is yours.</p>
      <Form fields={[]} action="Verify" send={send} />
    </section>
  );
}
