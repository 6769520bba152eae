import type { PageProps } from "../app.tsx";
import { client, type User } from "../client.ts";
import { Form, type Inputs, NEW_PASSWORD } from "../form.tsx";

export function AccountPage({ user, go }: PageProps & { readonly user: User }) {
  async function rename({ name = "" }: Inputs): Promise<string> {
    await client.put("/profile", { name });
    await go("/");
    return "Your name has been saved.";
  }

  async function changePassword(inputs: Inputs): Promise<string> {
    const { current_password = "", password = "" } = inputs;
    return (await client.changePassword({ ...inputs, current_password, password })).message;
  }

  async function resend(): Promise<string> {
    return (await client.resendVerification()).message;
  }

  return (
    <>
      <section>
        <h1>Hello, {user.name}</h1>
        <p className="quiet-text">{user.email}</p>
      </section>
      {user.verified_at === null ? (
        <section>
          <h2>Verify your email address</h2>
          <p>We have sent you a mail with a link. Follow it to edit your profile.</p>
          <Form fields={[]} action="Send another mail" send={resend} />
        </section>
      ) : (
        <section>
          <h2>Profile</h2>
          <Form
            fields={[{ name: "name", label: "Name", autoComplete: "name", value: user.name }]}
            action="Save"
            send={rename}
          />
        </section>
      )}
      <section>
        <h2>Password</h2>
        <Form
          fields={[
            {
              name: "current_password",
              label: "Current password",
              type: "password",
              autoComplete: "current-password",
            },
            ...NEW_PASSWORD,
          ]}
          action="Change password"
          send={changePassword}
        />
      </section>
    </>
  );
}
