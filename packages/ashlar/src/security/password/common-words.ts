/** First names and everyday words that head the lists of leaked passwords, alone, twice, or with one of the endings. */
export const COMMON_WORDS: string = `
aaron adam adrian aiden alan albert alberto alejandro alex alexis alice alicia alison allison alyssa amber amelia amy
ana andre andrea andrei andres andrew angel angela anita anna annie anthony antonio april arthur ashley audrey austin
ava barbara bella ben bianca blake bob bobby bradley brandon brenda brian brianna bruno bryan caitlin cameron camila
carla carlos carmen carol caroline casey cassie cecilia cesar charles charlie chloe chris christian christina cindy
claire clara claudia cody colin connor corey craig crystal daisy dakota dale damian dan dana daniel daniela danny dave
david dean debbie dennis derek devin diana diego dominic donald donna doug dylan eddie edgar edward elena eli elias
elijah ella ellen emil emilia emily emma enrique eric erica erik erika erin ethan eva evan evelyn felipe felix
fernando fiona florian frank fred gabriel gary gavin george gina gloria grace graham greg guillermo hailey hannah
harry hassan hector helen henry holly howard hugo hunter ian ibrahim isaac isabel ivan jack jackie jackson jacob jaime
jake james jamie jan jane janet jared jasmine jason javier jay jeff jeffrey jenna jenny jeremy jerry jesse jessica
jessie jesus jill jim jimmy joan joanna joe joel joey john johnny jon jonathan jordan jorge jose joseph josh joshua
joyce juan judith julia julian julie justin kaitlyn karen karina karl kate katie kayla keith kelly kelsey ken kenneth
kenny kerry kevin kim kimberly kirk kristen kyle larry laura lauren leah lee leo leon leslie levi liam lily linda lisa
logan lori louis louise luca lucas lucia lucy luis luke lydia madison maggie manuel marcel marco marcus margaret maria
mariana marie marina mario marion mark martha martin mary mason mateo matt matthew max maxim megan melanie melissa mia
michael michelle miguel mike mila miranda mohamed molly monica morgan nancy natalia natalie natasha nathan neil nick
nicolas nicole nina noah noel nora oliver olivia omar oscar owen pablo paige pamela patricia patrick paul paula pedro
peter phil philip pierre rachel rafael ralph ramon randy raul ray rebecca renee ricardo richard rick riley rita robert
roberto robin rodrigo roger roman ron rosa rose ross roy ruben ruth ryan sabrina sally sam samantha samuel sandra sara
sarah scott sean sergio seth shane shannon sharon shaun shawn sheila sierra simon sofia sonia sophia sophie spencer
stefan stella stephen steve steven stuart susan sydney sylvia tamara tara tatiana taylor teresa terry thomas tiffany
tim timothy tina todd tom tommy tony tracy travis trevor tyler valerie vanessa vera vicky victor vincent virginia
walter wayne wendy william yasmin zoe amor andy baby bear bubba buddy buster butter candy cat cookie cool cowboy crazy
cutie daddy dance dancer devil diamond dog dolphin dragon dream eagle elephant family fish flower forever freedom
friend friends fuckyou funny gamer ghost ginger girl gold golden green guitar happy heart heaven hello hockey honey
horse hottie junior killer king kitten kitty lady legend lion lovely loveme lover lucky magic master mercedes midnight
mommy money monkey monster mother music mustang newyork ninja orange panda peace peanut penguin pepper phoenix pizza
player pokemon power prince princess pumpkin puppy purple queen rabbit rainbow red rock rocky school secret sexy
shadow silver single sister skater smile smokey snoopy soccer sparky spider star summer sunny sunshine super superman
sweet sweetie tennis thunder tiger tigger trouble turtle vampire water welcome white winner winter wolf yellow zombie
chelsea arsenal liverpool barcelona juventus milan bayern ferrari porsche toyota yamaha honda nissan samsung apple
google yahoo windows linux computer internet admin test user guest pass qwerty asdf abc asd qwe zxc london paris
berlin madrid texas dallas chicago boston miami canada mexico brasil italia france india china russia polska turkey
password letmein spring autumn football baseball login abcd abcde abcdef abcdefg access acmilan adidas adminadmin
administrator aerosmith africa alabama alexander alexandra alexey allblacks amanda amazon america american amsterdam
andreas andrey angelbaby angelica angelina angels apollo apples argentina arizona asdasd asdfasdf asdfg asdfgh
asdfghjkl ashleigh assassin asshole atlantis august australia avengers azerty babyblue babyboy babycakes babydoll
babyface babygirl babylove babyphat badass badboy badgirl bailey banana bananas bandit bangladesh barbie barca barney
basketball batman battlefield beatles beatrice beautiful beauty believe benjamin besiktas bestfriend bestfriends
bigboy bigdaddy bigdick bigdog birmingham birthday bismillah bitch bitcoin black blackberry blackcat blackdog
blackjack blackops bleach blessed blessing blizzard blue blueberry bluebird blueeyes bluemoon bmw bobmarley
bocajuniors bonjovi bonnie booboo boomer brandy brittany brittney broncos brother brothers brownie bubblegum bubbles
buckeyes budapest buddha budlight bugsbunny bulldog bulldogs bullshit bumblebee bunny butterfly cadillac california
callofduty camaro candycane cardinal cardinals carolina cashmoney casper catdog catherine catlover catwoman celtic
challenger changeit changeme chargers charizard charlotte cheerleader cheese cherokee cherry chester chevrolet
cheyenne chicken chivas chocolate chopper chrisbrown christine christmas christopher cinderella cleveland cocacola
coconut coffee coldplay colombia colorado columbia compaq cookies cooper copper corinthians corona corvette courage
courtney cowboys cowgirl crazygirl creative cricket cristian cristina cruzazul cupcake cupcakes cutiepie daddysgirl
danger dangerous danielle darkangel darkness darkside darling darthvader database deadpool deathnote december default
demo depechemode destiny deutschland developer dexter dfghjkl diablo diamonds dickhead diesel discovery disney
disneyland dmitry doctorwho dodgeram dodgers doggie dolphins dominique donkey doraemon dragonball dragonfly dreamer
drpepper drummer ducati dumbass dynamite eagles eclipse ecuador eduardo einstein elizabeth emerald eminem emmanuel
engineer england enterprise esmeralda estrella eternity evanescence everton everything explorer facebook falcon
falloutboy familia familyguy fantasy father fcbarcelona fcporto fearless february fender fenerbahce fernanda feyenoord
fireball firebird firefire fireman fishing flamengo flamingo florida flowers fluffy fortnite francesca francesco
francisco franklin frederick friday friendship froggy fucklove fuckme fuckoff fuckthis gabriela gabriella gabrielle
galatasaray gameover ganesh gangsta gangster garfield gateway gators genius georgia germany getmoney gfhjkm ghbdtn
giants giovanni gladiator goaway godbless godfather godisgood godislove godzilla goldfish gonzalez goodcharlotte
goodgirl goodluck grandma greenday gregory guinness gunsnroses gymnast gymnastics hacker halflife halloween hamburg
hamster handsome hannahmontana happiness happyday hardcore harley harrypotter harrystyles heartless heather heineken
hellohello hellokitty hellothere helloworld helpme hercules hernandez hiphop hogwarts holland hollywood honeybee
hongkong horses hotdog hotmail hotstuff hunting hurricane huskers icecream iceman ichliebedich idontknow ihateyou
ilovegod ilovehim iloveme iloveu iloveyou imissyou indian indiana indonesia infinity inspiron instagram iphone ireland
ironmaiden ironman isabella isabelle israel istanbul jackass jacqueline jaguar jaimatadi jamaica january jasmin
jeffhardy jellybean jennifer jeremiah jesuschrist johnathan johncena johndeere joker josephine jupiter justice
justinbieber karate katherine kathleen kawasaki kentucky keyboard kingkong kisskiss kissme kissmyass kittycat knight
krishna kristina lacrosse ladybug ladygaga lakers lamborghini landrover laptop lasvegas lawrence ledzeppelin legolas
lenovo leonardo liberty lifeisgood lifesucks lightning lilwayne linkedin linkinpark lionking littleman logitech
lollipop longhorn longhorns losangeles loser love lovelife lovelove loverboy loveyou madonna mahalkita maksim malaysia
mama manager manchester mancity manunited manutd margarita marines marlboro marshall martinez masterchief matrix
maverick maximus memories metallica michaela michigan mickey mickeymouse microsoft million minecraft miracle mistress
mitchell mitsubishi mohammad mohammed momdad monday moneymoney monique monsters montana moonlight morrison
motherfucker motocross motorcycle motorola mountain muffin muhammad mustafa mybaby myfamily mykids mylife mylove
myspace napoli naruto nashville nastya nederland netflix network nevermind newcastle newjersey newlife newzealand
nicholas nickjonas nigeria nigga nightmare nike nintendo nirvana nokia nothing notredame november number numberone
oblivion october ohiostate oklahoma omsairam onedirection onelove onepiece online opensesame operator original
overwatch packers paintball pakistan panther panthers paradise paramore parol passcode passion passpass passwd
passwort patriots peaceout peaches pebbles penguins personal peterpan philippines phillies photoshop pikachu pink
pinkfloyd pinkgirl pitbull platinum playboy playgirl playstation poiuytrewq police poohbear popcorn porkchop portland
portugal postgres potato precious predator president pretty prettyboy prettygirl princesa priscilla privet puertorico
punisher punkrock puppylove pussy pussycat qazwsx qazwsxedc qwaszx qweasd qweasdzxc qwer qwertyuiop qwertz radiohead
raiders rainbows rammstein random ranger rangers raymond realmadrid rebel redbull redneck redskins redsox redwings
register remember renegade resident rihanna riverplate roblox rocket rocknroll rockstar rockyou rodriguez rolltide
romania ronaldo root rosebud rosemary runescape rusty saibaba sailormoon saints sairam salvador sammy sample samson
samurai sandiego santiago saopaulo sapphire sasha sasuke saturday saturn savannah scarface scarlett scoobydoo scooter
scorpio scorpion scotland seahawks sebastian security seminole senha september serenity sergey server sexybeast
sexybitch sexygirl sexylady sexymama shamrock shelby sherlock shithead shopping shorty showtime silverado simple
simpleplan simpsons singapore skateboard skittles skywalker slimshady slipknot smackdown smiley snapchat snickers
sniper snoopdog snowball snowboard snowflake snowwhite softball something sommer sooners soulmate southafrica southern
southpark southside spartan spartans special speedy spiderman spitfire spongebob sporting squirrel srilanka stanford
stanley starcraft stardust starfish stargate starlight startrek starwars steelers stephanie sterling stranger
strawberry student stupid subaru success suckmydick summertime sundance sunday sunflower superadmin supergirl
superstar survivor suzuki sverige sweetheart sweetness sweetpea swimming swordfish system szeretlek tarheels teacher
teamo teddy teddybear telegram telephone temp temporary tennessee tequiero tequila terminator tester testing testpass
testtest testuser thailand thankyou thebest theboss therock thursday tigers tinker tinkerbell together topsecret
tornado toshiba tottenham training transformers treasure trinity tristan triumph truelove trumpet trustno tucker
tuesday turkiye tweety tweetybird twilight twitter ukraine undertaker unicorn universe university username vacation
valentina valentine velocity venezuela veronica victoria victory vietnam violet vladik vladimir volcano volcom
volkswagen volleyball waheguru warcraft warrior warriors washington waterfall watermelon webmaster wednesday westham
westlife westside whatever whatsapp wildcats williams willow winston wisconsin wizard wolfpack wolverine wonderful
woodstock wrangler wrestler wrestling xavier yankees youandme yourmom yousuck youtube yugioh zachary zeppelin zerocool
zxcasdqwe zxcvbn zxcvbnm
`;

/** What stands behind such a word. */
export const COMMON_ENDINGS: string = `
1 2 11 12 123 1234 12345 123456 01 69 99 2020 2021 2022 2023 2024 2025 2026 ! 1! 123! @123
`;
