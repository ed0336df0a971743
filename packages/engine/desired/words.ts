/** Short, friendly words: an address is read aloud more often than typed. */
export const adjectives: readonly string[] = (
  'able agile airy amber ample apt arctic azure balmy bold brave breezy bright brisk broad calm candid careful ' +
  'cheery civil clean clear clever cloudy coastal cobalt cool coral cosy crimson crisp curious dainty dapper ' +
  'daring dawn deft dewy distant dreamy dusky eager early earnest easy elder elegant emerald epic even fabled ' +
  'fair famous fancy feathered fine firm fleet fluent fond forest fresh frosty gallant gentle gilded glad ' +
  'gleaming golden graceful grand green hale handy happy hardy hazel hearty hidden honest humble hushed icy ' +
  'indigo ivory jade jaunty jolly jovial joyful keen kind lavish leafy light lilac lively lofty loyal lucid lucky ' +
  'lunar lush magic maple marble mellow merry mighty mild mint misty modest mossy neat nimble noble northern ' +
  'oaken olive opal open orchid patient peaceful pearl placid plucky polar polite prime proud pure quaint quick ' +
  'quiet rapid rare ready regal rosy round royal ruby rustic sage sandy scarlet serene sharp shining silent ' +
  'silken silver simple sleek smooth snowy snug soft solar sonic spirited spry stable starry steady still stout ' +
  'sturdy subtle sunny super sure swift tall tame tender tidal tidy topaz tranquil true trusty upbeat urban ' +
  'valiant vast velvet verdant vivid warm wavy western wild wise witty woven young zesty'
).split(' ');

export const nouns: readonly string[] = (
  'acorn alcove anchor apple arbor arch aspen atlas aurora autumn badger bamboo basin bay beach beacon berry ' +
  'birch bird blossom bluff boat breeze bridge brook canal canyon cape cedar cherry cliff cloud clover coast ' +
  'comet coral cove crane creek crest crow daisy dale dawn deer delta dew dolphin dove dune eagle echo elm ember ' +
  'falcon fern field finch fjord flame flint forest fountain fox galaxy garden glacier glade glen grove gull ' +
  'harbor hare haven hawk hazel heath hedge heron hill hollow horizon iris island ivy jay jetty juniper kelp ' +
  'kestrel kite lagoon lake lantern larch lark leaf ledge lemon lily linden lotus lynx maple marsh marten meadow ' +
  'mesa mill mist moon moor moss mountain nebula nest oak oasis ocean orchard osprey otter owl palm panda path ' +
  'peak pebble petal pier pine plain planet plum pond poplar prairie puffin quail quartz quay rabbit rain rapids ' +
  'raven reed reef ridge river robin rock rose sail salmon sand sea seal shadow shell shore sky snow spark ' +
  'sparrow spring spruce star stone storm stream summit sun swallow swan tern thicket thistle thrush tide timber ' +
  'trail trout tulip valley vine violet wave whale willow wind wing wolf wood wren yarrow zephyr'
).split(' ');
