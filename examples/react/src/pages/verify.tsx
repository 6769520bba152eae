import { useState } from "react";
import { client } from "../client.ts";
import { Form } from "../form.tsx";

/** Where the link in the mail leads. It waits for a click, because some mail clients open every link. */
export function VerifyPage({ token }: { readonly token: string }) {
  const [done, setDone] = useState<string>();

  async function send(): Promise<undefined> {
    setDone((await client.verifyEmail(token)).message);
  }

  if (done !== undefined) {
    return (
      <section>
        <h1>Verify your email address</h1>
        <p className="good" role="status">
          {done}
        </p>
        <p className="links">
          <a href="/">Continue</a>
        </p>
      </section>
    );
  }

  return (
    <section>
      <h1>Verify your email address</h1>
      <p>Press the button to confirm that this address is yours.</p>
      <Form fields={[]} action="Verify" send={send} />
    </section>
  );
}
