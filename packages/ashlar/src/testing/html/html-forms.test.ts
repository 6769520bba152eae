import { describe, expect, test } from "vitest";
import { formsOf, type HtmlForm } from "./html-forms.ts";

function only(html: string): HtmlForm {
  const [form, ...others] = formsOf(html);
  expect(others).toEqual([]);
  return form!;
}

/** A form's controls in a short notation. */
function controls(form: HtmlForm): unknown[] {
  return form.controls.map(({ kind, name, value, isChecked, isDisabled, options }) => {
    const flags = `${isChecked ? "+" : ""}${isDisabled ? "-" : ""}`;
    return `${kind}${flags} ${name}=${options.length === 0 ? value : options.map((option) => option.value).join("|")}`;
  });
}

describe("forms of a page", () => {
  test("each has its attributes and its controls, in page order", () => {
    const [search, login, ...others] = formsOf(`
      <input name="loose"><form id=search action="/search"><input name=q></form>
      <form METHOD=post class="a b"><input type=email name=email value="a@b.example"><button>Go</button></form>`);
    expect(others).toEqual([]);
    expect(controls(search!)).toEqual(["text q="]);
    expect(controls(login!)).toEqual(["text email=a@b.example", "submit ="]);
    expect(String(search)).toBe('<form id="search" action="/search">');
    expect(String(login)).toBe('<form class="a b" method="post">');
  });

  test("a control belongs to the form that it names, wherever it is", () => {
    const forms = formsOf(`<input name=a form=two><form id=one><input name=b form=two><input name=c></form>
      <form id=two><input name=d></form><input name=e form=three>`);
    expect(forms.map(controls)).toEqual([["text c="], ["text a=", "text b=", "text d="]]);
  });

  test("a form in a form is ignored, and its controls belong to the outer one", () => {
    expect(formsOf("<form id=a><form id=b><input name=x></form><input name=y>").map(controls)).toEqual([["text x="]]);
  });

  test("a form that begins in a table has the controls in its cells", () => {
    const form = only("<table><form id=a><tr><td><input name=x></td></tr></form></table><input name=y>");
    expect(controls(form)).toEqual(["text x="]);
  });

  test("the content of a template or a comment is not part of the page", () => {
    expect(formsOf("<template><form><input name=a></form></template><!-- <form></form> -->")).toEqual([]);
    expect(controls(only("<form><template><input name=a></template><input name=b></form>"))).toEqual(["text b="]);
  });

  test("every control is read", () => {
    const form = only(`<form>
      <input name=t value=1><input type=PASSWORD name=p><input type=unknown name=u><input type=hidden name=h value=2>
      <input type=checkbox name=c><input type=checkbox name=c value=x checked><input type=radio name=r value=1 checked>
      <input type=file name=f multiple><input type=submit name=s value=Go><input type=image name=i>
      <input type=reset name=no><input type=button name=no><button type=button name=no></button><button type=reset></button>
      <button name=b value=v>Text</button>
      <textarea name=a>\n one\n&amp;two</textarea>
      <select name=o><option>x  y<option value=z selected>Z</select></form>`);
    expect(controls(form)).toEqual([
      "text t=1",
      "text p=",
      "text u=",
      "hidden h=2",
      "checkbox c=on",
      "checkbox+ c=x",
      "radio+ r=1",
      "file f=",
      "submit s=Go",
      "submit i=",
      "submit b=v",
      "text a= one\n&two",
      "select o=x y|z",
    ]);
  });

  test("a control is disabled by its attribute or its fieldset, and an option by its group", () => {
    const form =
      only(`<form><input name=a disabled><fieldset disabled><input name=b><fieldset><input name=c></fieldset></fieldset>
      <fieldset><input name=d></fieldset><fieldset disabled><legend><input name=e></legend></fieldset>
      <select name=s><optgroup disabled><option>1</optgroup><option>2</option><option disabled>3</select></form>`);
    expect(controls(form)).toEqual(["text- a=", "text- b=", "text- c=", "text d=", "text e=", "select s=1|2|3"]);
    expect(form.controls.at(-1)?.options.map((option) => option.isDisabled)).toEqual([true, false, true]);
  });
});

describe("the contents of a form", () => {
  const form = only(`<form><input name=a value=1><input type=hidden name=a value=2><input type=checkbox name=c value=x>
    <input type=checkbox name=c value=y checked><input type=radio name=r value=1>
    <select name=one><option disabled>choose<option>p<option>q</select><select name=two><option>p<option selected>q</select>
    <select name=many multiple><option>p</select><button name=b value=v></button><input type=file name=f></form>`);

  test.each([
    ["a", "1"],
    ["c", "y"],
    ["r", null],
    ["one", "p"],
    ["two", "q"],
    ["many", null],
    ["b", null],
    ["f", null],
    ["none", null],
  ])("the value of %s is %s", (name, value) => {
    expect(form.value(name)).toBe(value);
  });

  test("its fields are listed once", () => {
    expect(form.fields).toEqual(["a", "c", "r", "one", "two", "many", "b", "f"]);
  });
});
